"""The asset checks: each finds what it is there for, in spoilt tables of the sample, and names it."""

import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import duckdb
import pyarrow.parquet as pq
import pytest

from assets.leaderboard.snapshots import digest_of
from pipelines.checks import MANIFEST_CHECKS, RANKING_CHECKS, opened_tables
from warehouse.build import build_warehouse
from warehouse.home import Home
from warehouse.parquet import rows_of, table_of
from warehouse.tables import DRIFT, QUARANTINE, TABLES

CHECKS = {(check.table, check.name): check for check in (*MANIFEST_CHECKS, *RANKING_CHECKS)}
Rows = list[dict[str, object]]


@pytest.fixture
def copied(sample_home: Home, tmp_path: Path) -> Home:
    """The sample's tables, for a test to spoil."""
    shutil.copytree(sample_home.directory / "tables", tmp_path / "tables")
    return Home(tmp_path)


@pytest.fixture
def published(sample_home: Home, tmp_path: Path) -> Home:
    """The sample's home, all of it, for a test to spoil."""
    shutil.copytree(sample_home.directory, tmp_path / "home")
    return Home(tmp_path / "home")


def spoil(home: Home, table: str, change: Callable[[Rows], object]) -> None:
    rows = rows_of(pq.read_table(home.table(table)))
    change(rows)
    pq.write_table(table_of(rows, TABLES[table].schema), home.table(table))


def spoil_manifest(home: Home) -> None:
    def change(rows: Rows) -> None:
        rows[0]["manifest"] = str(rows[0]["manifest"]).replace('"passed"', '"failed"')

    spoil(home, "runs", change)


def spoil_rank(home: Home) -> None:
    def change(rows: Rows) -> None:
        rows[0]["rank"] = 99

    spoil(home, "rankings", change)


def swap_places(home: Home) -> None:
    """Show two runs of one group the other way round."""

    def change(rows: Rows) -> None:
        first = next(row for row in rows if row["display_order"] == 1)
        second = next(
            row
            for row in rows
            if row["display_order"] == 2 and row["comparison_key"] == first["comparison_key"]
        )
        first["display_order"], second["display_order"] = 2, 1

    spoil(home, "rankings", change)


def broken(home: Home, table: str, name: str) -> list[dict[str, object]]:
    """The rows that a check shows as breaking it; it fails if, and only if, there are any."""
    with opened_tables(home) as tables:
        result = CHECKS[table, name].result(tables, home)
    shown = result.metadata["rows"]
    assert isinstance(shown, dg.TableMetadataValue)
    assert result.passed == (not shown.records)
    return [dict(record.data) for record in shown.records]


@pytest.mark.parametrize(("table", "name"), [key for key in CHECKS if key[1] != "pages_are_fresh"])
def test_the_sample_passes(sample_home: Home, table: str, name: str) -> None:
    assert broken(sample_home, table, name) == []


def test_a_reference_that_leads_nowhere_is_named(copied: Home) -> None:
    spoil(copied, "projects", lambda rows: rows.pop())
    shown = broken(copied, "runs", "references_resolve")
    assert {(row["table"], row["reference"]) for row in shown} == {("implementations", "project_digest")}


def test_a_manifest_that_was_changed_no_longer_has_its_digest(copied: Home) -> None:
    spoil_manifest(copied)
    (row,) = broken(copied, "runs", "digests_are_those_of_manifests")
    assert row["table"] == "runs"


@pytest.mark.parametrize("spec", ['{"b":2,"a":1}', '{"a":1.0}', '{"a":1,"a":2}'])
def test_a_digest_of_a_text_that_is_not_canonical_is_none(copied: Home, spec: str) -> None:
    text = f'{{"apiVersion":"kernelindex.dev/v1alpha1","kind":"BenchmarkRun","spec":{spec}}}'

    def change(rows: Rows) -> None:
        rows[0]["run_digest"] = digest_of(text.encode())
        rows[0]["manifest"] = text.replace('"spec"', '"metadata":{},"spec"')

    spoil(copied, "runs", change)
    (row,) = broken(copied, "runs", "digests_are_those_of_manifests")
    assert row["digest"] == digest_of(text.encode())


def test_a_row_without_its_page_is_named(copied: Home) -> None:
    spoil(copied, "pages", lambda rows: rows.pop())
    assert broken(copied, "pages", "every_row_has_its_page")


def test_a_submission_with_two_runs_is_named(copied: Home) -> None:
    def change(rows: Rows) -> None:
        rows[1]["external_id"] = rows[0]["external_id"]

    spoil(copied, "runs", change)
    (row,) = broken(copied, "source_submissions", "one_run_a_submission")
    assert row["runs"] == 2


def test_a_submission_that_was_published_and_is_gone_is_named(copied: Home) -> None:
    build_warehouse(copied)
    gone = rows_of(pq.read_table(copied.table("source_submissions")))[-1]
    spoil(copied, "source_submissions", lambda rows: rows.pop())
    assert broken(copied, "source_submissions", "none_lost") == []  # Its history still says when it went.
    spoil(copied, "submission_history", lambda rows: rows.clear())
    (row,) = broken(copied, "source_submissions", "none_lost")
    assert row["submission_id"] == gone["submission_id"]


def test_a_submission_that_no_table_knows_is_named(published: Home) -> None:
    spoil(published, "source_submissions", lambda rows: rows.pop())
    assert len(broken(published, "source_submissions", "all_accounted_for")) == 1


def test_a_speedup_that_no_mean_can_explain_is_named(copied: Home) -> None:
    def change(rows: Rows) -> None:
        rows[0]["avg_speedup"] = 0.01

    spoil(copied, "source_submissions", change)
    assert len(broken(copied, "source_submissions", "source_arithmetic")) == 1


def test_what_is_quarantined_or_unknown_is_shown(copied: Home) -> None:
    now = datetime.now(UTC)
    seen = {"locator": "/kernels/1", "page_digest": "sha256:00", "first_seen_at": now}
    item = {**seen, "item": "page", "problem": "it is no JSON"}
    pq.write_table(table_of([item], QUARANTINE.schema), copied.table("quarantine"))
    field = {**seen, "field": "data.colour", "change": "appeared", "last_seen_at": now}
    pq.write_table(table_of([field], DRIFT.schema), copied.table("drift"))
    assert broken(copied, "quarantine", "little_is_quarantined")[0]["problem"] == "it is no JSON"
    assert broken(copied, "drift", "no_drift")[0]["field"] == "data.colour"


def test_pages_of_long_ago_are_not_fresh(sample_home: Home) -> None:
    (row,) = broken(sample_home, "pages", "pages_are_fresh")
    assert str(row["newest_page"]).startswith("2026-08-16")


def test_a_group_that_mixes_workloads_is_named(copied: Home) -> None:
    def change(rows: Rows) -> None:
        other = next(row for row in rows if row["workload_digest"] != rows[0]["workload_digest"])
        other["comparison_key"] = rows[0]["comparison_key"]

    spoil(copied, "runs", change)
    assert len(broken(copied, "comparison_groups", "no_group_mixes")) == 1


def test_a_run_that_is_neither_ranked_nor_excluded_is_named(copied: Home) -> None:
    gone = rows_of(pq.read_table(copied.table("rankings")))[0]
    spoil(copied, "rankings", lambda rows: rows.pop(0))
    (row,) = broken(copied, "rankings", "ranked_or_excluded")
    assert row["run_digest"] == gone["run_digest"]


def test_a_rank_that_the_policy_does_not_give_is_named(copied: Home) -> None:
    spoil_rank(copied)
    (row,) = broken(copied, "rankings", "ranks_are_reproduced")
    assert str(row["is"]).startswith("[99,")


def test_names_show_as_text_whatever_stands_in_them(copied: Home) -> None:
    def change(rows: Rows) -> None:
        rows[0] |= {"avg_speedup": 0.01, "username": "<script>|\n**x**"}

    spoil(copied, "source_submissions", change)
    (row,) = broken(copied, "source_submissions", "source_arithmetic")
    assert all(isinstance(value, str | int | float | bool) for value in row.values())


def test_every_check_that_guards_what_is_published_is_blocking() -> None:
    warnings = {check.name for check in CHECKS.values() if not check.blocking}
    looked_at = {"source_arithmetic", "little_is_quarantined", "no_drift", "pages_are_fresh"}
    left_out = {"no_kernel_is_gone", "no_submission_is_missing"}
    assert warnings == looked_at | left_out | {"saved_pages_agree", "all_entries_count"}


@pytest.fixture(
    params=[
        (spoil_manifest, "runs", "digests_are_those_of_manifests"),
        (spoil_rank, "rankings", "ranks_are_reproduced"),
        (swap_places, "rankings", "ranks_are_reproduced"),
    ]
)
def spoilt(request: pytest.FixtureRequest, published: Home) -> tuple[Home, str, str]:
    """A home with something wrong in it; the table, and the check that finds it."""
    spoil_it, table, name = request.param
    spoil_it(published)
    return published, table, name


def test_what_differs_from_what_was_published_is_looked_at(spoilt: tuple[Home, str, str]) -> None:
    assert broken(*spoilt)


def test_what_was_published_as_it_is_was_checked_then(spoilt: tuple[Home, str, str]) -> None:
    build_warehouse(spoilt[0])
    assert broken(*spoilt) == []


def test_all_is_looked_at_where_the_published_warehouse_is_damaged_or_of_other_code(
    spoilt: tuple[Home, str, str],
) -> None:
    home, _, _ = spoilt
    build_warehouse(home)
    with duckdb.connect(home.warehouse) as warehouse:
        warehouse.execute("update warehouse_version set code_digest = 'another'")
    assert broken(*spoilt)
    home.warehouse.write_bytes(home.warehouse.read_bytes()[:5000])
    assert broken(*spoilt)


def one_says_otherwise(rows: Rows) -> None:
    rows[0]["sol_score"] = 0.99


def one_is_no_run(rows: Rows) -> None:
    rows[0]["outcome"] = "INCORRECT"


@pytest.mark.parametrize(
    ("table", "change", "problem"),
    [
        ("source_submissions", one_is_no_run, "its outcome in source_submissions, and whether"),
        ("source_submissions", one_says_otherwise, "the version that holds says otherwise"),
        ("source_submissions", lambda rows: rows.pop(0), "it has a run, but is not in source_submissions"),
        ("submission_history", lambda rows: rows.pop(0), "no version of it holds"),
        ("submission_history", one_says_otherwise, "the version that holds says otherwise"),
        ("runs", lambda rows: rows.pop(0), "its outcome in source_submissions, and whether"),
    ],
)
def test_tables_that_contradict_each_other_are_named(
    copied: Home, table: str, change: Callable[[Rows], object], problem: str
) -> None:
    spoil(copied, table, change)
    (row,) = broken(copied, "submission_history", "tables_agree")
    assert str(row["problem"]).startswith(problem)


def test_a_record_that_a_slower_run_holds_is_named(copied: Home) -> None:
    def lose(rows: Rows) -> None:
        last = max(rows, key=lambda row: (str(row["comparison_key"]), int(str(row["event_number"]))))
        rows.remove(last)

    spoil(copied, "record_events", lose)
    assert len(broken(copied, "record_events", "tables_agree")) == 1


def test_a_version_that_was_published_and_is_lost_is_named(published: Home) -> None:
    def twice(rows: Rows) -> None:
        rows.append({**rows[0], "version": 2, "outcome": "INCORRECT"})

    spoil(published, "submission_history", twice)
    build_warehouse(published)
    spoil(published, "submission_history", lambda rows: rows.pop())
    (row,) = broken(published, "source_submissions", "none_lost")
    assert (row["versions_published"], row["versions"]) == (2, 1)
