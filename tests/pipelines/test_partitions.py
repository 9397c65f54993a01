"""Kernels as partitions: of a run over many, each shows what became of itself."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets.leaderboard.assets import KERNELS, kernels
from assets.leaderboard.recorded import recorded_directory
from pipelines.definitions import defs
from pipelines.jobs import range_tags
from pipelines.names import asset_key, own
from tests.examples import sample_ids
from warehouse.home import Home

KERNEL = "001_attention_softmax_dropout_value_matmul_backward"
PAGES, MANIFESTS = asset_key("kernel_pages"), asset_key("kernel_manifests")
MADE, FAILED = "MATERIALIZED", "FAILED"


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """The sample as a directory of saved answers, for a test to spoil."""
    recorded_directory(tmp_path / "saved")
    return tmp_path / "saved"


@pytest.fixture
def instance(home: Home, saved: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dg.DagsterInstance]:
    """An instance that knows the sample's kernels, on a home that has their listing."""
    monkeypatch.setenv("KERNELINDEX_HOME", str(home.directory))
    monkeypatch.setenv("KERNELINDEX_SOURCE", str(saved))
    with dg.DagsterInstance.ephemeral() as instance:
        assert run(instance, "list_kernels").success
        yield instance


def run(instance: dg.DagsterInstance, job: str, *keys: str, **more: Any) -> dg.ExecuteInProcessResult:
    tags = range_tags(keys) if keys else {}
    return defs.resolve_job_def(own(job)).execute_in_process(
        instance=instance, tags=tags, raise_on_error=False, **more
    )


def fetch(instance: dg.DagsterInstance, *keys: str) -> dg.ExecuteInProcessResult:
    """What a backfill of these kernels (of all, without any) runs, checks with it."""
    keys = keys or tuple(instance.get_dynamic_partitions(KERNELS))
    return run(instance, "ingest", *keys, asset_selection=[PAGES, MANIFESTS])


def status(instance: dg.DagsterInstance, asset: dg.AssetKey) -> dict[str, str | None]:
    """How each kernel shows in the UI; None: as missing."""
    keys = instance.get_dynamic_partitions(KERNELS)
    statuses = instance.get_status_by_partition(asset, keys, kernels) or {}
    return {key: status and status.value for key, status in statuses.items()}


def versions(instance: dg.DagsterInstance, asset: dg.AssetKey) -> Mapping[str, str]:
    """The data version of each kernel."""
    keys = instance.get_dynamic_partitions(KERNELS)
    tags = instance.event_log_storage.get_latest_tags_by_partition(
        asset, dg.DagsterEventType.ASSET_MATERIALIZATION, ["dagster/data_version"], keys
    )
    return {key: of_key["dagster/data_version"] for key, of_key in tags.items()}


def test_a_kernel_that_is_not_to_be_had_shows_as_failed_and_no_other_does(
    instance: dg.DagsterInstance, saved: Path
) -> None:
    (saved / "kernels" / "1.json").unlink()

    result = fetch(instance)

    assert not result.success
    assert status(instance, PAGES) == dict.fromkeys(sample_ids(), MADE) | {KERNEL: FAILED}
    assert status(instance, MANIFESTS) == dict.fromkeys(sample_ids(), MADE) | {KERNEL: FAILED}


def test_the_check_names_the_kernels_that_were_not_to_be_had(
    instance: dg.DagsterInstance, saved: Path
) -> None:
    (saved / "kernels" / "1.json").unlink()

    result = fetch(instance)

    (check,) = [
        evaluation
        for evaluation in result.get_asset_check_evaluations()
        if evaluation.check_name == "kernels_are_fetched"
    ]
    rows = check.metadata["rows"]
    assert isinstance(rows, dg.TableMetadataValue)
    assert (check.passed, [row.data["kernel"] for row in rows.records]) == (False, [KERNEL])


def test_a_kernel_that_is_to_be_had_again_and_is_backfilled_no_longer_shows_as_failed(
    instance: dg.DagsterInstance, saved: Path
) -> None:
    (saved / "kernels" / "1.json").unlink()
    fetch(instance)
    recorded_directory(saved)

    assert fetch(instance, KERNEL).success

    assert status(instance, PAGES) == dict.fromkeys(sample_ids(), MADE)
    assert status(instance, MANIFESTS) == dict.fromkeys(sample_ids(), MADE)


def test_a_kernel_that_fails_keeps_what_was_made_of_the_pages_that_it_has(
    instance: dg.DagsterInstance, saved: Path
) -> None:
    fetch(instance)
    (saved / "kernels" / "1.json").unlink()

    fetch(instance)

    assert status(instance, PAGES)[KERNEL] == FAILED
    assert status(instance, MANIFESTS)[KERNEL] == MADE


def test_of_a_run_over_many_kernels_each_has_the_version_of_its_own_pages(
    instance: dg.DagsterInstance, saved: Path
) -> None:
    fetch(instance)
    before = versions(instance, PAGES)
    page = json.loads((saved / "submissions" / "1.json").read_text())
    page["data"]["submissions"][0]["is_disqualified"] = True
    (saved / "submissions" / "1.json").write_text(json.dumps(page))

    fetch(instance)

    after = versions(instance, PAGES)
    assert len(set(after.values())) == len(sample_ids())
    assert {key for key in after if after[key] != before[key]} == {KERNEL}
    assert len(set(versions(instance, MANIFESTS).values())) == len(sample_ids())
