"""What runs without a person: schedules and sensors start what is due, and where they don't they say why."""

import json
import socket
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import dagster as dg
import pytest

from assets.leaderboard.assets import KERNELS as PARTITIONS
from assets.leaderboard.kernel_pages import fetch_kernel, fetch_kernel_listing
from assets.leaderboard.sources import RecordedSource
from pipelines.definitions import defs
from pipelines.instance import open_instance
from pipelines.jobs import range_tags
from pipelines.names import asset_key, own
from pipelines.own_runs import home_tag
from pipelines.resources import Pipeline
from pipelines.schedules import nightly, weekly
from pipelines.sensors import carry_on, failures, new_kernels
from pipelines.settings import Settings
from tests.examples import sample_ids
from warehouse.home import Home
from warehouse.parts import parts_version

KERNELS = sorted(sample_ids(), key=sample_ids().__getitem__)  # As they are registered.
PAGES = asset_key("kernel_pages")


@pytest.fixture
def instance(home: Home, monkeypatch: pytest.MonkeyPatch) -> Iterator[dg.DagsterInstance]:
    """An instance and a home that knows the sample's kernels, none of which was asked for yet."""
    monkeypatch.setenv("KERNELINDEX_HOME", str(home.directory))
    with dg.DagsterInstance.local_temp() as instance:
        fetch_kernel_listing(RecordedSource(), home)
        yield instance


def run(instance: dg.DagsterInstance, job: str, *keys: str, **more: Any) -> dg.ExecuteInProcessResult:
    tags = range_tags(keys) if keys else {}
    return defs.resolve_job_def(own(job)).execute_in_process(
        instance=instance, tags=tags, raise_on_error=False, **more
    )


def under_way(instance: dg.DagsterInstance, job: str = "ingest") -> dg.DagsterRun:
    """A run of a job of the home's that has begun and has not ended."""
    return instance.create_run_for_job(
        defs.resolve_job_def(own(job)),
        status=dg.DagsterRunStatus.STARTED,
        tags=home_tag(Settings().home),
    )


def tick(instance: dg.DagsterInstance, of: dg.ScheduleDefinition | dg.SensorDefinition) -> Any:
    """What a schedule or a sensor asks for (or why it does not) at one tick."""
    if isinstance(of, dg.SensorDefinition):
        return of(dg.build_sensor_context(instance=instance, resources={"pipeline": Pipeline()}))
    return of(dg.build_schedule_context(instance=instance, resources={"pipeline": Pipeline()}))


def covers(request: dg.RunRequest) -> tuple[str, str]:
    """The first and the last kernel of a run that is asked for."""
    tags = request.tags
    return tags["dagster/asset_partition_range_start"], tags["dagster/asset_partition_range_end"]


# Schedules.


@pytest.mark.parametrize(("schedule", "incremental"), [(nightly, True), (weekly, False)])
def test_a_schedule_ingests_all_kernels(
    instance: dg.DagsterInstance, schedule: dg.ScheduleDefinition, incremental: bool
) -> None:
    request = tick(instance, schedule)
    assert covers(request) == (KERNELS[0], KERNELS[-1])
    assert request.run_config["resources"]["pipeline"]["config"] == {"incremental": incremental}


@pytest.mark.parametrize("schedule", [nightly, weekly])
def test_a_schedule_waits_while_an_ingest_is_under_way(
    instance: dg.DagsterInstance, schedule: dg.ScheduleDefinition
) -> None:
    other = under_way(instance)
    assert tick(instance, schedule).skip_message == (
        f"run {other.run_id} is still ingesting: never two at once"
    )


@pytest.mark.parametrize("schedule", [nightly, weekly])
def test_a_schedule_on_a_new_home_says_what_to_run_first(
    schedule: dg.ScheduleDefinition, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNELINDEX_HOME", str(tmp_path))
    with dg.DagsterInstance.local_temp() as instance:
        assert "run the job sol_execbench_list_kernels" in tick(instance, schedule).skip_message


# New kernels.


def test_kernels_that_were_never_asked_for_are_ingested(instance: dg.DagsterInstance) -> None:
    request = tick(instance, new_kernels)
    assert covers(request) == (KERNELS[0], KERNELS[-1])


def test_kernels_that_were_made_or_failed_are_not_ingested_once_more(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run(instance, "list_kernels")
    run(instance, "ingest", *KERNELS[:2], asset_selection=[PAGES])
    monkeypatch.setenv("KERNELINDEX_SOURCE", str(tmp_path))  # There is nothing there.
    assert not run(instance, "ingest", KERNELS[2], asset_selection=[PAGES]).success

    assert covers(tick(instance, new_kernels)) == (KERNELS[3], KERNELS[-1])

    monkeypatch.delenv("KERNELINDEX_SOURCE")
    run(instance, "ingest", *KERNELS[3:], asset_selection=[PAGES])
    assert tick(instance, new_kernels).skip_message == "all kernels that are listed were asked for"


def test_the_same_new_kernels_are_asked_for_under_one_key(instance: dg.DagsterInstance) -> None:
    first = tick(instance, new_kernels)
    assert tick(instance, new_kernels).run_key == first.run_key
    run(instance, "ingest", KERNELS[-1], asset_selection=[PAGES])
    assert tick(instance, new_kernels).run_key != first.run_key


def test_new_kernels_wait_while_an_ingest_is_under_way(instance: dg.DagsterInstance) -> None:
    other = under_way(instance)
    assert other.run_id in tick(instance, new_kernels).skip_message


# Carrying on.


@pytest.fixture
def fetched(home: Home) -> Home:
    """A home with the pages of one kernel, of which nothing was made yet."""
    source = RecordedSource()
    fetch_kernel_listing(source, home)
    fetch_kernel(source, home, KERNELS[0], sample_ids()[KERNELS[0]])
    return home


def collect(home: Home) -> None:
    home.collected.parent.mkdir(exist_ok=True)
    home.collected.write_text(parts_version(home))


def test_what_was_fetched_is_carried_on_once(instance: dg.DagsterInstance, fetched: Home) -> None:
    request = tick(instance, carry_on)
    assert covers(request) == (KERNELS[0], KERNELS[-1])
    assert tick(instance, carry_on).run_key == request.run_key
    collect(fetched)
    assert tick(instance, carry_on).skip_message == "the tables are made of all that there is"


def test_what_was_fetched_after_that_is_carried_on_too(instance: dg.DagsterInstance, fetched: Home) -> None:
    first = tick(instance, carry_on)
    collect(fetched)
    fetch_kernel(RecordedSource(), fetched, KERNELS[1], sample_ids()[KERNELS[1]])
    assert tick(instance, carry_on).run_key not in (None, first.run_key)


def test_where_nothing_was_fetched_nothing_is_carried_on(instance: dg.DagsterInstance) -> None:
    assert tick(instance, carry_on).skip_message == "nothing was fetched yet"


@pytest.mark.parametrize("job", ["ingest", "publish", "saved_pages"])
def test_nothing_is_carried_on_while_a_run_is_under_way(
    instance: dg.DagsterInstance, fetched: Home, job: str
) -> None:
    other = under_way(instance, job)
    assert tick(instance, carry_on).skip_message == f"run {other.run_id} is not over yet"


# Failures.


class Webhook:
    """A webhook on this machine, and what it was told. `is_up` is whether it takes anything."""

    def __init__(self) -> None:
        self.told: list[dict[str, str]] = []
        self.is_up = True
        webhook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if webhook.is_up:
                    webhook.told.append(json.loads(body))
                self.send_response(204 if webhook.is_up else 503)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/secret"


@pytest.fixture
def webhook(monkeypatch: pytest.MonkeyPatch) -> Iterator[Webhook]:
    webhook = Webhook()
    monkeypatch.setenv("KERNELINDEX_WEBHOOK_URL", webhook.url)
    thread = Thread(target=webhook.server.serve_forever)
    thread.start()
    yield webhook
    webhook.server.shutdown()
    thread.join()
    webhook.server.server_close()


class Failures:
    """The sensor, ticking as the daemon has it tick: each tick goes on where the last one ended."""

    def __init__(self, instance: dg.DagsterInstance) -> None:
        self.instance = instance
        self.cursor: str | None = None
        self.tick()

    def tick(self) -> list[str]:
        """What the tick could not do."""
        context = dg.build_sensor_context(
            instance=self.instance,
            cursor=self.cursor,
            definitions=defs,
            sensor_name=failures.name,
        )
        ticked = failures.evaluate_tick(context)
        self.cursor = ticked.cursor
        return [str(reaction.error) for reaction in ticked.dagster_run_reactions or () if reaction.error]


@pytest.fixture
def nothing_to_fetch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KERNELINDEX_SOURCE", str(tmp_path))


@pytest.mark.usefixtures("nothing_to_fetch")
def test_a_run_that_failed_is_posted_with_its_reason(instance: dg.DagsterInstance, webhook: Webhook) -> None:
    sensor = Failures(instance)
    failed = run(instance, "list_kernels")

    assert sensor.tick() == []

    (told,) = webhook.told
    assert (told["run"], told["job"]) == (failed.run_id, "sol_execbench_list_kernels")
    assert "there is no kernels.json in it" in told["problem"]
    assert told["text"] == f"sol_execbench_list_kernels {failed.run_id} failed: {told['problem']}"
    assert sensor.tick() == []
    assert len(webhook.told) == 1


@pytest.mark.usefixtures("nothing_to_fetch")
def test_a_webhook_that_is_down_is_said_and_told_of_the_next_run(
    instance: dg.DagsterInstance, webhook: Webhook
) -> None:
    sensor = Failures(instance)
    first = run(instance, "list_kernels")
    webhook.is_up = False

    (said,) = sensor.tick()

    assert f"the webhook was not told that run {first.run_id} failed: status 503" in said
    assert "secret" not in said
    webhook.is_up = True
    second = run(instance, "list_kernels")
    assert sensor.tick() == []
    assert [told["run"] for told in webhook.told] == [second.run_id]


@pytest.mark.usefixtures("nothing_to_fetch")
def test_a_webhook_that_is_not_there_is_said(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("KERNELINDEX_WEBHOOK_URL", f"http://127.0.0.1:{free.getsockname()[1]}/secret")
    sensor = Failures(instance)
    run(instance, "list_kernels")
    (said,) = sensor.tick()
    assert "ConnectError" in said
    assert "secret" not in said


# Tidying.


def test_old_runs_are_deleted_with_their_files_and_younger_ones_and_what_they_made_stay(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNELINDEX_HOME", str(home.directory))
    with open_instance(home) as instance:
        old, young = run(instance, "list_kernels"), run(instance, "list_kernels")
        with closing(sqlite3.connect(home.dagster / "history" / "runs.db")) as runs, runs:
            runs.execute(
                "update runs set update_timestamp = '2026-01-01 00:00:00' where run_id = ?", [old.run_id]
            )
        for result in (old, young):
            (home.dagster / "storage" / result.run_id).mkdir(parents=True, exist_ok=True)

        tidied = run(instance, "tidy")

        assert tidied.success
        assert {kept.run_id for kept in instance.get_runs()} == {young.run_id, tidied.run_id}
        assert [path for path in home.dagster.rglob("*") if old.run_id in path.name] == []
        assert (home.dagster / "storage" / young.run_id).exists()
        assert instance.all_logs(young.run_id)
        made = instance.get_latest_materialization_event(asset_key("kernel_listing"))
        assert made is not None
        assert made.run_id == young.run_id
        assert len(instance.get_dynamic_partitions(PARTITIONS)) == len(KERNELS)
        assert home.kernel_listing.exists()
