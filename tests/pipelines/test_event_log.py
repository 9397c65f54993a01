"""Dagster's event log: with its connections kept, it holds what Dagster's own would."""

from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import dagster as dg
import pytest
from dagster._check import CheckError
from dagster._core.storage.event_log.sqlite.sqlite_event_log import SqliteEventLogStorage

from pipelines.instance import open_instance
from warehouse.home import Home

kernels = dg.DynamicPartitionsDefinition(name="kernels")


@dg.asset(partitions_def=kernels, backfill_policy=dg.BackfillPolicy.single_run())
def pages() -> None:
    """An asset of three partitions."""


def materialized(instance: dg.DagsterInstance) -> str:
    """Make all partitions in one run; return its id."""
    instance.add_dynamic_partitions("kernels", ["a", "b", "c"])
    tags = {"dagster/asset_partition_range_start": "a", "dagster/asset_partition_range_end": "c"}
    return dg.materialize([pages], instance=instance, tags=tags).run_id


def test_dagsters_own_storage_reads_what_it_wrote(home: Home) -> None:
    with open_instance(home) as instance:
        run_id = materialized(instance)
        said = [record.dagster_event_type for record in instance.all_logs(run_id) if record.is_dagster_event]
    own = SqliteEventLogStorage(str(home.dagster / "history" / "runs"))
    read = own.get_logs_for_run(run_id)
    assert [record.dagster_event_type for record in read if record.is_dagster_event] == said
    assert said.count(dg.DagsterEventType.ASSET_MATERIALIZATION) == 3
    assert own.get_materialized_partitions(pages.key) == {"a", "b", "c"}


def test_it_goes_on_from_what_dagsters_own_storage_wrote(home: Home) -> None:
    history = home.dagster / "history" / "runs"
    history.mkdir(parents=True)
    SqliteEventLogStorage(str(history)).add_dynamic_partitions("kernels", ["before"])
    with open_instance(home) as instance:
        assert instance.get_dynamic_partitions("kernels") == ["before"]


def test_a_batch_that_fails_halfway_leaves_nothing(home: Home) -> None:
    with open_instance(home) as instance:
        run_id = materialized(instance)
        log = instance.event_log_storage
        events = list(log.get_logs_for_run(run_id))
        with pytest.raises(CheckError, match="EventLogEntry"):
            log.store_event_batch([*events[:2], SimpleNamespace(run_id=run_id)])  # type: ignore[list-item]
        assert len(log.get_logs_for_run(run_id)) == len(events)


def test_what_another_instance_writes_is_seen(home: Home) -> None:
    with open_instance(home) as instance:
        before = instance.get_dynamic_partitions("kernels")
        with open_instance(home) as other:
            run_id = materialized(other)
        assert before == []
        assert instance.get_dynamic_partitions("kernels") == ["a", "b", "c"]
        assert instance.all_logs(run_id)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs Linux's /proc")
def test_what_it_opened_is_closed_with_it(home: Home) -> None:
    with open_instance(home) as instance:
        materialized(instance)
        assert opened(home)
    assert opened(home) == []


def opened(home: Home) -> list[Path]:
    """The files below a home that this process has open."""
    files = []
    for number in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # It was open only to list them.
            files.append(number.readlink())
    return [file for file in files if file.is_relative_to(home.directory)]
