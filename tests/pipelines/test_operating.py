"""What an operator does in Dagster's UI, through the UI's own API: a real webserver, a real daemon.

One story on one home, in the order in which an operator lives it; each test is a chapter.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import httpx
import pytest

from assets.leaderboard.recorded import recorded_directory
from pipelines.instance import prepare_instance
from tests.inbox.pages import seed_html
from warehouse.home import Home

pytestmark = pytest.mark.ui

KERNEL = "001_attention_softmax_dropout_value_matmul_backward"
LOCATION = {"repositoryLocationName": "pipelines.definitions", "repositoryName": "__repository__"}


@dataclass
class Ui:
    """The UI of one home, and the directory of saved answers that it fetches from."""

    url: str
    home: Home
    saved: Path

    def ask(self, query: str, **variables: object) -> Any:
        """What the API answers."""
        answer = httpx.post(f"{self.url}/graphql", json={"query": query, "variables": variables}, timeout=60)
        said = answer.json()
        assert "errors" not in said, said["errors"]
        return said["data"]

    def run_job(self, name: str) -> str:
        """Launch a job as the launchpad does; the run's id."""
        query = """mutation($params: ExecutionParams!) { launchPipelineExecution(executionParams: $params) {
            ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }"""
        selector = {**LOCATION, "pipelineName": name}
        answer = self.ask(query, params={"selector": selector, "mode": "default", "runConfigData": "{}"})
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
        params = {"assetSelection": [{"path": [asset]} for asset in assets], **partitions}
        return str(self.ask(query, params=params)["launchPartitionBackfill"]["backfillId"])

    def backfill_status(self, backfill_id: str) -> str:
        """The status of a backfill."""
        query = """query($id: String!) { partitionBackfillOrError(backfillId: $id) {
            ... on PartitionBackfill { status } } }"""
        return str(self.ask(query, id=backfill_id)["partitionBackfillOrError"]["status"])

    def readable(self) -> dict[str, list[str]]:
        """The kernels whose check `kernel_is_readable` succeeded, and those whose failed."""
        query = """query { assetNodeOrError(assetKey: {path: ["kernel_manifests"]}) { ... on AssetNode {
            assetChecksOrError { ... on AssetChecks { checks { name partitionStatuses {
            ... on AssetCheckDefaultPartitionStatuses {
                succeededPartitions failedPartitions } } } } } } } }"""
        (check,) = self.ask(query)["assetNodeOrError"]["assetChecksOrError"]["checks"]
        statuses: dict[str, list[str]] = check["partitionStatuses"]
        return statuses

    def start_schedule(self, name: str) -> None:
        """Switch a schedule on."""
        query = """mutation($selector: ScheduleSelector!) { startSchedule(scheduleSelector: $selector) {
            ... on ScheduleStateResult { scheduleState { status } } ... on PythonError { message } } }"""
        answer = self.ask(query, selector={**LOCATION, "scheduleName": name})
        assert answer["startSchedule"]["scheduleState"]["status"] == "RUNNING"

    def ticks(self, name: str) -> list[str]:
        """How a schedule's ticks ended."""
        query = """query($selector: ScheduleSelector!) { scheduleOrError(scheduleSelector: $selector) {
            ... on Schedule { scheduleState { ticks { status } } } } }"""
        answer = self.ask(query, selector={**LOCATION, "scheduleName": name})
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


@pytest.fixture(scope="module")
def ui(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ui]:
    home = Home(tmp_path_factory.mktemp("home"))
    saved = tmp_path_factory.mktemp("saved")
    recorded_directory(saved)
    prepare_instance(home)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **os.environ,
        "DAGSTER_HOME": str(home.dagster),
        "KERNELINDEX_HOME": str(home.directory),
        "KERNELINDEX_SOURCE": str(saved),
        "KERNELINDEX_NIGHTLY_CRON": "* * * * *",
    }
    command = [sys.executable, "-m", "dagster", "dev", "-m", "pipelines.definitions", "-p", str(port)]
    log = (home.directory / "ui.log").open("w")
    process = subprocess.Popen(
        command, env=environment, stdout=log, stderr=log, start_new_session=True, cwd=home.directory
    )
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: _answers(url), "the webserver answers")
        yield Ui(url, home, saved)
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


def test_listing_the_kernels_makes_them_partitions_and_a_backfill_of_all_is_carried_to_the_warehouse(
    ui: Ui,
) -> None:
    listing = ui.run_job("list_kernels")
    wait_until(lambda: ui.run_status(listing) == "SUCCESS", "the kernels are listed")

    backfill = ui.backfill(["kernel_pages", "kernel_manifests"], allPartitions=True)
    wait_until(lambda: ui.backfill_status(backfill) == "COMPLETED_SUCCESS", "the backfill is completed")

    wait_until(lambda: ui.rows("select count(*) from rankings") == [(75,)], "the warehouse is published")
    assert len(ui.readable()["succeededPartitions"]) == 24


def test_a_bad_page_turns_the_check_of_its_kernel_red_and_changes_nothing_published(ui: Ui) -> None:
    (ui.saved / "kernels" / "1.json").write_text("<html>Bad gateway</html>")
    before = ui.rows("select run_digest, rank from rankings order by all")

    backfill = ui.backfill(["kernel_pages", "kernel_manifests"], partitionNames=[KERNEL])
    wait_until(lambda: ui.backfill_status(backfill) == "COMPLETED_SUCCESS", "the backfill is completed")

    readable = ui.readable()
    assert readable["failedPartitions"] == [KERNEL]
    assert len(readable["succeededPartitions"]) == 23
    quarantined = "select locator from quarantine"
    wait_until(lambda: ui.rows(quarantined) == [("/kernels/1",)], "the bad page is published as quarantined")
    assert ui.rows("select run_digest, rank from rankings order by all") == before


def test_the_page_mended_and_its_kernel_backfilled_the_check_is_green(ui: Ui) -> None:
    recorded_directory(ui.saved)

    backfill = ui.backfill(["kernel_pages", "kernel_manifests"], partitionNames=[KERNEL])
    wait_until(lambda: ui.backfill_status(backfill) == "COMPLETED_SUCCESS", "the backfill is completed")

    assert ui.readable()["failedPartitions"] == []
    wait_until(lambda: ui.rows("select * from quarantine") == [], "nothing is quarantined any more")


def test_a_page_that_is_put_into_the_inbox_is_taken_in(ui: Ui) -> None:
    ui.home.inbox.mkdir(exist_ok=True)
    (ui.home.inbox / "a page.html").write_text(seed_html("3268"))

    pages = "select kind, state from saved_pages"
    wait_until(lambda: ui.rows(pages) == [("run", "counted")], "the page is taken in")
    assert ui.rows("select distinct verdict from run_page_checks where verdict = 'differs'") == []


def test_a_schedule_that_is_switched_on_ticks_and_ingests(ui: Ui) -> None:
    submission = json.loads((ui.saved / "submissions" / "1.json").read_text())
    submission["data"]["submissions"][0]["is_disqualified"] = True
    (ui.saved / "submissions" / "1.json").write_text(json.dumps(submission))

    ui.start_schedule("nightly")

    wait_until(lambda: "SUCCESS" in ui.ticks("nightly"), "the schedule has ticked")
    wait_until(lambda: ui.rows("select count(*) from rankings") == [(74,)], "its run is published")
