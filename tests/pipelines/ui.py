"""Dagster's UI and daemon on a home, and what an operator asks of them through the UI's own API."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import httpx

from pipelines.instance import prepare_instance
from pipelines.names import PREFIX, own
from warehouse.home import Home

LOCATION = {"repositoryLocationName": "pipelines.definitions", "repositoryName": "__repository__"}


@dataclass
class Ui:
    """The UI of one home."""

    url: str
    home: Home

    def ask(self, query: str, **variables: object) -> Any:
        """What the API answers."""
        answer = httpx.post(f"{self.url}/graphql", json={"query": query, "variables": variables}, timeout=60)
        said = answer.json()
        assert "errors" not in said, said["errors"]
        return said["data"]

    def run_job(self, name: str, tags: Mapping[str, str] | None = None) -> str:
        """Launch a job as the launchpad does; the run's id."""
        query = """mutation($params: ExecutionParams!) { launchPipelineExecution(executionParams: $params) {
            ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }"""
        selector = {**LOCATION, "pipelineName": own(name)}
        metadata = {"tags": [{"key": key, "value": value} for key, value in (tags or {}).items()]}
        params = {"selector": selector, "runConfigData": "{}", "executionMetadata": metadata}
        answer = self.ask(query, params=params)
        return str(answer["launchPipelineExecution"]["run"]["runId"])

    def run_status(self, run_id: str) -> str:
        """The status of a run."""
        query = "query($id: ID!) { runOrError(runId: $id) { ... on Run { status } } }"
        return str(self.ask(query, id=run_id)["runOrError"]["status"])

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

    def start_schedule(self, name: str) -> None:
        """Switch a schedule on."""
        query = """mutation($selector: ScheduleSelector!) { startSchedule(scheduleSelector: $selector) {
            ... on ScheduleStateResult { scheduleState { status } } ... on PythonError { message } } }"""
        answer = self.ask(query, selector={**LOCATION, "scheduleName": own(name)})
        assert answer["startSchedule"]["scheduleState"]["status"] == "RUNNING"

    def ticks(self, name: str) -> list[str]:
        """How a schedule's ticks ended."""
        query = """query($selector: ScheduleSelector!) { scheduleOrError(scheduleSelector: $selector) {
            ... on Schedule { scheduleState { ticks { status } } } } }"""
        answer = self.ask(query, selector={**LOCATION, "scheduleName": own(name)})
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
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **os.environ,
        "DAGSTER_HOME": str(home.dagster),
        "KERNELINDEX_HOME": str(home.directory),
        "KERNELINDEX_SOURCE": str(source),
        **settings,
    }
    command = [sys.executable, "-m", "dagster", "dev", "-m", "pipelines.definitions", "-p", str(port)]
    log = (home.directory / "ui.log").open("w")
    process = subprocess.Popen(
        command, env=environment, stdout=log, stderr=log, start_new_session=True, cwd=home.directory
    )
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: _answers(url), "the webserver answers")
        yield Ui(url, home)
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
