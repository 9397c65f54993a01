"""Dagster's UI and daemon on a home, and what an operator asks of them through the UI's own API."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import httpx

from pipelines.instance import prepare_instance
from pipelines.names import PREFIX, own
from warehouse.home import Home

UNDER_WAY = {"QUEUED", "NOT_STARTED", "STARTING", "STARTED"}


@dataclass
class Ui:
    """The UI of one home, and the code location that it is asked about."""

    url: str
    home: Home
    location: str = "pipelines.definitions"

    @property
    def _repository(self) -> dict[str, str]:
        return {"repositoryLocationName": self.location, "repositoryName": "__repository__"}

    def ask(self, query: str, **variables: object) -> Any:
        """What the API answers."""
        answer = httpx.post(f"{self.url}/graphql", json={"query": query, "variables": variables}, timeout=60)
        said = answer.json()
        assert "errors" not in said, said["errors"]
        return said["data"]

    def run_job(
        self, name: str, tags: Mapping[str, str] | None = None, settings: Mapping[str, str] | None = None
    ) -> str:
        """Launch a job as the launchpad does, with these settings as run config; the run's id."""
        query = """mutation($params: ExecutionParams!) { launchPipelineExecution(executionParams: $params) {
            ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }"""
        selector = {**self._repository, "pipelineName": own(name)}
        metadata = {"tags": [{"key": key, "value": value} for key, value in (tags or {}).items()]}
        config = {"resources": {"pipeline": {"config": dict(settings or {})}}}
        params = {"selector": selector, "runConfigData": config, "executionMetadata": metadata}
        answer = self.ask(query, params=params)
        return str(answer["launchPipelineExecution"]["run"]["runId"])

    def run_status(self, run_id: str) -> str:
        """The status of a run."""
        query = "query($id: ID!) { runOrError(runId: $id) { ... on Run { status } } }"
        return str(self.ask(query, id=run_id)["runOrError"]["status"])

    def done(self, *run_ids: str) -> None:
        """Wait until runs are over; they must have succeeded."""

        def statuses() -> set[str]:
            return set(map(self.run_status, run_ids))

        wait_until(lambda: not UNDER_WAY & statuses(), f"over: {', '.join(run_ids)}")
        assert statuses() == {"SUCCESS"}

    def backfill(self, assets: list[str], **partitions: object) -> str:
        """Launch a backfill as the asset graph does; its id."""
        query = """mutation($params: LaunchBackfillParams!) {
            launchPartitionBackfill(backfillParams: $params) {
                ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }"""
        params = {"assetSelection": [{"path": [PREFIX, asset]} for asset in assets], **partitions}
        return str(self.ask(query, params=params)["launchPartitionBackfill"]["backfillId"])

    def backfill_status(self, backfill_id: str) -> str:
        """The status of a backfill."""
        query = """query($id: String!) { partitionBackfillOrError(backfillId: $id) {
            ... on PartitionBackfill { status } } }"""
        return str(self.ask(query, id=backfill_id)["partitionBackfillOrError"]["status"])

    def partitions(self, asset: str) -> dict[str, int]:
        """How many kernels of an asset are materialised, and how many failed."""
        query = """query($key: AssetKeyInput!) { assetNodeOrError(assetKey: $key) { ... on AssetNode {
            partitionStats { numMaterialized numFailed } } } }"""
        counts: dict[str, int] = self.ask(query, key={"path": [PREFIX, asset]})["assetNodeOrError"][
            "partitionStats"
        ]
        return counts

    def run_statuses(self) -> list[str]:
        """The statuses of all runs."""
        query = "query { runsOrError { ... on Runs { results { status } } } }"
        return [run["status"] for run in self.ask(query)["runsOrError"]["results"]]

    def readable(self) -> dict[str, list[str]]:
        """The kernels whose check `kernel_is_readable` succeeded, and those whose failed."""
        query = """query($key: AssetKeyInput!) { assetNodeOrError(assetKey: $key) { ... on AssetNode {
            assetChecksOrError { ... on AssetChecks { checks { name partitionStatuses {
            ... on AssetCheckDefaultPartitionStatuses {
                succeededPartitions failedPartitions } } } } } } } }"""
        key = {"path": [PREFIX, "kernel_manifests"]}
        (check,) = self.ask(query, key=key)["assetNodeOrError"]["assetChecksOrError"]["checks"]
        statuses: dict[str, list[str]] = check["partitionStatuses"]
        return statuses

    def kernels(self) -> list[str]:
        """The partitions that there are to backfill."""
        query = """query($key: AssetKeyInput!) { assetNodeOrError(assetKey: $key) { ... on AssetNode {
            partitionKeys } } }"""
        answer = self.ask(query, key={"path": [PREFIX, "kernel_pages"]})
        return list(answer["assetNodeOrError"]["partitionKeys"])

    def switched_on(self) -> dict[str, bool]:
        """Which schedules and sensors are on."""
        query = """query($selector: RepositorySelector!) { repositoryOrError(repositorySelector: $selector) {
            ... on Repository { schedules { name scheduleState { status } }
                sensors { name sensorState { status } } } } }"""
        answer = self.ask(query, selector=self._repository)["repositoryOrError"]
        states = {schedule["name"]: schedule["scheduleState"] for schedule in answer["schedules"]}
        states |= {sensor["name"]: sensor["sensorState"] for sensor in answer["sensors"]}
        return {name: state["status"] == "RUNNING" for name, state in states.items()}

    def start_schedule(self, name: str) -> None:
        """Switch a schedule on."""
        query = """mutation($selector: ScheduleSelector!) { startSchedule(scheduleSelector: $selector) {
            ... on ScheduleStateResult { scheduleState { status } } ... on PythonError { message } } }"""
        answer = self.ask(query, selector={**self._repository, "scheduleName": own(name)})
        assert answer["startSchedule"]["scheduleState"]["status"] == "RUNNING"

    def ticks(self, name: str) -> list[str]:
        """How a schedule's ticks ended."""
        query = """query($selector: ScheduleSelector!) { scheduleOrError(scheduleSelector: $selector) {
            ... on Schedule { scheduleState { ticks { status } } } } }"""
        answer = self.ask(query, selector={**self._repository, "scheduleName": own(name)})
        return [tick["status"] for tick in answer["scheduleOrError"]["scheduleState"]["ticks"]]

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What the published warehouse holds; nothing, where none is published."""
        if not self.home.warehouse.exists():
            return []
        with duckdb.connect(self.home.warehouse, read_only=True) as warehouse:
            return warehouse.execute(query).fetchall()


def wait_until(holds: Callable[[], bool], what: str, within_s: float = 150) -> None:
    """Look again and again, twice a second."""
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline, f"after {within_s} s still not: {what}"
        time.sleep(0.5)


@contextmanager
def running_ui(home: Home, source: Path, **settings: str) -> Iterator[Ui]:
    """The UI and its daemon on a home, with this source of pages; they end with the block."""
    prepare_instance(home)
    environment = {
        **os.environ,
        "DAGSTER_HOME": str(home.dagster),
        "KERNELINDEX_HOME": str(home.directory),
        "KERNELINDEX_SOURCE": str(source),
        **settings,
    }
    with dagster_dev(["-m", "pipelines.definitions"], environment, home.directory) as url:
        yield Ui(url, home)


@contextmanager
def dagster_dev(code: Sequence[str], environment: Mapping[str, str], directory: Path) -> Iterator[str]:
    """`dagster dev` with these code locations, in a directory: where its webserver answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "dagster", "dev", *code, "-p", str(port)]
    with (directory / "ui.log").open("w") as log:
        process = subprocess.Popen(
            command, env=environment, stdout=log, stderr=log, start_new_session=True, cwd=directory
        )
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: _answers(url), "the webserver answers")
        yield url
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:  # A run that is under way can hold it.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=30)


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/server_info", timeout=5).status_code == 200
    except httpx.HTTPError:
        return False
