"""What is ranked of the sample, and of the whole archive, against what is known of them."""

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from assets.leaderboard.sources import DirectorySource
from assets.rankings.accounting import accounts_by_kernel, unaccounted
from tests.examples import ingest
from tests.rankings.boards import published, queried
from warehouse.home import Home

EVENTS = """
select
    events.comparison_key,
    runs.external_id as submission,
    previous.external_id as previous,
    taken_at as at,
    cause
from record_events as events
join runs using (run_digest)
left join runs as previous on previous.run_digest = previous_run_digest
"""

# DESIGN section 5: six real submissions are faster than their suites' bounds allow.
BELOW_SUITE_BOUND = {"15511", "20107", "25162", "33453", "35819", "36565"}


@pytest.fixture(scope="module")
def archive_home(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home with all tables of the archive."""
    home = Home(tmp_path_factory.mktemp("archive"))
    ingest(DirectorySource(archive), home)
    return home


@pytest.fixture(scope="module")
def whole(archive_home: Home) -> Iterator[duckdb.DuckDBPyConnection]:
    """The warehouse of the archive."""
    with published(archive_home) as connection:
        yield connection


@pytest.fixture(scope="module")
def sampled(sample_home: Home) -> Iterator[duckdb.DuckDBPyConnection]:
    """The warehouse of the sample."""
    with published(sample_home) as connection:
        yield connection


def assert_as_published(warehouse: duckdb.DuckDBPyConnection, golden: dict[str, Any], events: int) -> None:
    """Hold the record events of the groups that KernelIndex published against what it published."""
    published_events = {
        (event["comparison_key"], event["submission"], event["previous"], datetime.fromisoformat(event["at"]))
        for event in golden["record_events"]
    }
    assert len(published_events) == len(golden["record_events"]) == events
    keys = {event["comparison_key"] for event in golden["record_events"]}
    ours = [event for event in queried(warehouse, EVENTS) if event["comparison_key"] in keys]
    assert {tuple(event.values())[:4] for event in ours} == published_events
    assert {event["cause"] for event in ours} == {"new_run"}


def test_the_samples_record_events_are_those_that_kernelindex_published(
    sampled: duckdb.DuckDBPyConnection, golden: dict[str, Any]
) -> None:
    assert_as_published(sampled, golden, events=51)


def test_the_archives_record_events_are_those_that_kernelindex_published(
    whole: duckdb.DuckDBPyConnection, archive: Path
) -> None:
    golden = json.loads((archive.parent / "golden" / "digests.json").read_text("utf-8"))
    assert_as_published(whole, golden, events=138)
    assert len(queried(whole, "from record_events")) == 500


def test_six_runs_of_the_archive_are_flagged_and_none_is_held(whole: duckdb.DuckDBPyConnection) -> None:
    flagged = queried(whole, "select external_id, flag from flags join runs using (run_digest)")
    assert {row["external_id"] for row in flagged} == BELOW_SUITE_BOUND
    assert {row["flag"] for row in flagged} == {"BELOW_SUITE_BOUND"}
    assert len(flagged) == 6
    assert queried(whole, "from review") == queried(whole, "from exclusions") == []


def test_the_sample_has_all_six(sampled: duckdb.DuckDBPyConnection) -> None:
    flagged = queried(sampled, "select external_id, flag from flags join runs using (run_digest)")
    assert {row["external_id"]: row["flag"] for row in flagged} == dict.fromkeys(
        BELOW_SUITE_BOUND, "BELOW_SUITE_BOUND"
    )


def test_every_submission_of_the_archive_is_accounted_for(archive_home: Home) -> None:
    assert unaccounted(archive_home).num_rows == 0
    accounts = accounts_by_kernel(archive_home).to_pylist()
    assert sum(row["listed"] for row in accounts) == sum(row["runs"] for row in accounts) == 708


def test_the_archive_as_of_now_is_ranked_as_now(whole: duckdb.DuckDBPyConnection) -> None:
    now = "from rankings_as_of('2026-11-30T00:00:00Z')"
    assert queried(whole, f"{now} order by all") == queried(whole, "from rankings order by all")
    assert len(queried(whole, "from rankings")) == 708


def test_who_leads_the_archive_is_said_of_the_newest_stack_alone(whole: duckdb.DuckDBPyConnection) -> None:
    columns = "project, firsts, contested_firsts, uncontested_firsts"
    assert whole.sql(f"select {columns} from standings limit 6").fetchall() == [
        ("Amir M. Mir | SF Tensor", 58, 50, 8),
        ("Hyra", 29, 26, 3),
        ("Geometric", 28, 22, 6),
        ("Recursive", 27, 16, 11),
        ("ac4k", 23, 23, 0),
        ("doubleAI", 16, 14, 2),
    ]


def test_seven_kernels_of_the_archive_have_no_submission_on_the_newest_stack(
    whole: duckdb.DuckDBPyConnection,
) -> None:
    counts = "select count(*), count(*) filter (is_open), sum(submissions) from kernel_stacks"
    assert whole.sql(f"{counts} where is_newest").fetchall() == [(235, 7, 561)]
    assert whole.sql(counts).fetchall() == [(470, 137, 708)]


def test_tags_find_more_than_families_do(whole: duckdb.DuckDBPyConnection) -> None:
    kernels = "select count(distinct kernel) from leaderboard where"
    assert whole.sql(f"{kernels} family = 'attention'").fetchall() == [(14,)]
    assert whole.sql(f"{kernels} list_contains(tags, 'attention')").fetchall() == [(27,)]
