"""In a Dagster instance that others use too: what is theirs is left alone."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Event

import dagster as dg
import pytest
from dagster._core.storage.event_log.sqlite.sqlite_event_log import SqliteEventLogStorage

from assets.leaderboard.assets import KERNELS, register_kernels, registered_kernels
from assets.leaderboard.kernel_pages import fetch_kernel_listing
from assets.leaderboard.sources import RecordedSource
from pipelines.definitions import defs
from pipelines.instance import BY_COMMAND, is_own, only_command, open_instance
from pipelines.jobs import range_tags
from pipelines.names import asset_key, own
from pipelines.own_runs import home_tag, under_way
from pipelines.pools import FETCHING, PUBLISHING, alone_in, limit_pools
from tests.examples import sample_ids
from warehouse.home import Home


@dg.job
def ingest() -> None:
    """A job of another team, under a name that one of ours had."""


@pytest.fixture
def stock(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """An instance as Dagster makes it, without any setting."""
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        yield instance


def aged(instance: dg.DagsterInstance, run_id: str) -> str:
    """The run, as if it had ended 200 days ago."""
    with closing(sqlite3.connect(Path(instance.root_directory, "history", "runs.db"))) as runs, runs:
        runs.execute(
            "update runs set update_timestamp = datetime('now', '-200 days') where run_id = ?", [run_id]
        )
    return run_id


def test_old_runs_of_others_and_of_other_homes_stay_and_those_of_the_home_go(
    stock: dg.DagsterInstance, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ours(name: str, home: Path) -> str:
        monkeypatch.setenv("KERNELINDEX_HOME", str(home))
        return defs.resolve_job_def(own(name)).execute_in_process(instance=stock).run_id

    theirs = aged(stock, ingest.execute_in_process(instance=stock).run_id)
    of_other_home = aged(stock, ours("list_kernels", tmp_path / "other"))
    aged(stock, ours("list_kernels", home.directory))

    tidied = ours("tidy", home.directory)

    assert {run.run_id for run in stock.get_runs()} == {theirs, of_other_home, tidied}


# The instance.


def test_the_instance_is_the_operators_where_there_is_one(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "dagster.yaml").write_text("telemetry:\n  enabled: false\n")
    monkeypatch.setenv("DAGSTER_HOME", str(theirs))

    with open_instance(home) as instance:
        assert Path(instance.root_directory) == theirs
        assert not is_own(home)

    assert (theirs / "dagster.yaml").read_text() == "telemetry:\n  enabled: false\n"
    assert not home.dagster.exists()


def test_the_instance_is_the_homes_own_where_the_operator_has_none(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    with open_instance(home) as instance:
        assert Path(instance.root_directory) == home.dagster
    assert "DAGSTER_HOME" not in os.environ


# Pools.


def limit(instance: dg.DagsterInstance, pool: str) -> int | None:
    return instance.event_log_storage.get_concurrency_info(pool).limit


@pytest.mark.parametrize("before", [None, 5])
def test_the_pools_admit_one_step_on_any_instance(stock: dg.DagsterInstance, before: int | None) -> None:
    if before:
        stock.event_log_storage.set_concurrency_slots(PUBLISHING, before)
    limit_pools(stock)
    assert (limit(stock, FETCHING), limit(stock, PUBLISHING)) == (1, 1)


def test_a_pool_that_an_operator_closed_stays_closed(stock: dg.DagsterInstance) -> None:
    stock.event_log_storage.set_concurrency_slots(PUBLISHING, 0)
    limit_pools(stock)
    assert limit(stock, PUBLISHING) == 0


def test_an_instance_that_cannot_limit_pools_is_refused_in_words(
    stock: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(stock.event_log_storage), "supports_global_concurrency_limits", False)
    with pytest.raises(dg.Failure) as refused:
        limit_pools(stock)
    assert "two runs could write at once" in (refused.value.description or "")


def test_of_steps_that_dagster_let_in_at_once_one_waits_for_the_other(
    stock: dg.DagsterInstance,
) -> None:
    at_it: list[str] = []
    most = []

    @dg.asset  # Without a pool, as it is where Dagster counts pools by the run.
    def step(context: dg.AssetExecutionContext) -> None:
        with alone_in(PUBLISHING, context):
            at_it.append(context.run.run_id)
            most.append(len(at_it))
            inside.wait(0.2)  # A while in which the others would come in.
            at_it.remove(context.run.run_id)

    inside = Event()
    limit_pools(stock)
    with ThreadPoolExecutor(3) as threads:
        ended = list(threads.map(lambda _: dg.materialize([step], instance=stock).success, range(3)))

    assert (ended, most) == ([True] * 3, [1] * 3)
    assert stock.event_log_storage.get_concurrency_info(PUBLISHING).claimed_slots == []


def test_a_place_of_a_run_that_is_over_is_taken(stock: dg.DagsterInstance) -> None:
    over = stock.create_run_for_job(ingest, status=dg.DagsterRunStatus.FAILURE)
    limit_pools(stock)
    stock.event_log_storage.claim_concurrency_slot(PUBLISHING, over.run_id, "step")

    @dg.asset
    def step(context: dg.AssetExecutionContext) -> None:
        with alone_in(PUBLISHING, context):
            pass

    assert dg.materialize([step], instance=stock).success


# Runs that are under way, and those that are dead.


def test_a_run_of_others_is_not_waited_for(stock: dg.DagsterInstance, home: Home) -> None:
    stock.create_run_for_job(ingest, status=dg.DagsterRunStatus.STARTED)
    assert under_way(stock, home.directory) is None
    ours = stock.create_run_for_job(ingest, status=dg.DagsterRunStatus.STARTED, tags=home_tag(home.directory))
    assert under_way(stock, home.directory) == ours.run_id
    assert under_way(stock, home.directory, but=ours.run_id) is None


def test_a_dead_run_of_a_home_that_was_copied_ends_in_the_copy(home: Home, tmp_path: Path) -> None:
    with open_instance(home) as instance:
        dead = instance.create_run_for_job(
            ingest, status=dg.DagsterRunStatus.STARTED, tags={**home_tag(home.directory), **BY_COMMAND}
        )
    copied = Home(tmp_path / "copied")
    shutil.copytree(home.directory, copied.directory)

    with open_instance(copied) as instance, only_command(copied, instance):
        ended = instance.get_run_by_id(dead.run_id)
    assert ended is not None
    assert ended.status == dg.DagsterRunStatus.FAILURE


# Kernels.


def test_what_a_home_knows_is_registered_in_an_instance_that_never_listed_it(
    stock: dg.DagsterInstance, home: Home
) -> None:
    stock.add_dynamic_partitions("kernels", ["theirs"])
    fetch_kernel_listing(RecordedSource(), home)

    register_kernels(stock, home)

    assert set(stock.get_dynamic_partitions(KERNELS)) == set(sample_ids())
    assert stock.get_dynamic_partitions("kernels") == ["theirs"]


def test_of_two_homes_in_one_instance_each_has_its_own_kernels(
    stock: dg.DagsterInstance, home: Home, tmp_path: Path
) -> None:
    fetch_kernel_listing(RecordedSource(), home)
    stock.add_dynamic_partitions(KERNELS, ["of another home"])
    assert "of another home" not in registered_kernels(stock, home)
    assert registered_kernels(stock, Home(tmp_path / "another")) == []


def test_the_home_is_a_field_of_the_resource(
    stock: dg.DagsterInstance, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNELINDEX_HOME", str(tmp_path / "of the environment"))
    config = {"resources": {"pipeline": {"config": {"home": str(home.directory)}}}}
    run = defs.resolve_job_def(own("list_kernels")).execute_in_process(instance=stock, run_config=config)
    assert home.kernel_listing.exists()
    assert not (tmp_path / "of the environment").exists()
    (kept,) = stock.get_runs(dg.RunsFilter(tags=home_tag(home.directory)))
    assert kept.run_id == run.run_id


# Names of Dagster's that are not public.


def test_without_dagsters_private_names_a_run_says_so_and_goes_the_public_way(
    stock: dg.DagsterInstance, home: Home, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("KERNELINDEX_HOME", str(home.directory))
    monkeypatch.setattr("pipelines.partitions.PARTITION_EVENTS", ("dagster:no_partition_events",))
    monkeypatch.setattr("pipelines.checks.CHECK_TARGET", ("dagster:no_check_target",))
    job = defs.resolve_job_def(own("ingest"))
    fetch_kernel_listing(RecordedSource(), home)
    keys = registered_kernels(stock, home)

    result = job.execute_in_process(instance=stock, tags=range_tags(keys))

    assert result.success
    assert "this release of Dagster has no dagster:no_partition_events" in caplog.text
    assert set(stock.get_materialized_partitions(asset_key("kernel_manifests"))) == set(sample_ids())


def test_without_dagsters_private_names_its_own_event_log_is_used(
    home: Home, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("pipelines.own_config.EVENT_LOG", ("dagster:no_event_log",))
    with open_instance(home) as instance:
        assert type(instance.event_log_storage) is SqliteEventLogStorage
    assert "which is slower" in caplog.text
