"""The ranking assets, as Dagster runs them, on the sample, with files that people changed."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb
import pytest
import yaml

import assets.rankings.assets as module
from assets.rankings.assets import decisions_and_attestations, ranking_tables
from pipelines import cli
from pipelines.checks import check_rankings
from pipelines.doctor import examine
from pipelines.resources import Pipeline
from tests.rankings.boards import Row, decision
from warehouse.assets import warehouse
from warehouse.home import Home

SAID = {"run": "35781", "date": "2026-08-20", "who": "Grace Hopper"}


@pytest.fixture
def home(sample_home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home with the sample's tables, to rank anew; decisions and attestations are files of its own."""
    home = Home(tmp_path / "home")
    shutil.copytree(sample_home.directory / "tables", home.directory / "tables")
    (tmp_path / "attestations").mkdir()
    monkeypatch.setenv("KERNELINDEX_HOME", str(home.directory))
    monkeypatch.setattr(module, "DECISIONS_FILE", tmp_path / "decisions.yaml")
    monkeypatch.setattr(module, "ATTESTATIONS_DIRECTORY", tmp_path / "attestations")
    write(home, [])
    return home


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield instance


def write(home: Home, decisions: list[Row], **attestations: list[Row]) -> None:
    directory = home.directory.parent
    (directory / "decisions.yaml").write_text(yaml.safe_dump(decisions), "utf-8")
    for name, said in attestations.items():
        (directory / "attestations" / f"{name}.yaml").write_text(yaml.safe_dump(said), "utf-8")


def materialize(instance: dg.DagsterInstance, *more: Any) -> dg.ExecuteInProcessResult:
    resources = {"pipeline": Pipeline()}
    assets = [decisions_and_attestations, ranking_tables, *more]
    return dg.materialize(assets, instance=instance, resources=resources, raise_on_error=False)


def versions(result: dg.ExecuteInProcessResult) -> dict[str, str]:
    """The data version of each table that was made."""
    return {
        event.asset_key.path[-1]: (event.materialization.tags or {})["dagster/data_version"]
        for event in result.get_asset_materialization_events()
        if event.asset_key
    }


def rows(home: Home, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(home.warehouse, read_only=True) as connection:
        connection.execute("set timezone = 'UTC'")
        return connection.execute(query).fetchall()


GROUP = (
    "join named_groups using (comparison_key) join runs using (comparison_key, run_digest) "
    "where kernel like '045_%'"
)


def test_what_the_page_says_of_a_retraction_is_so(home: Home, instance: dg.DagsterInstance) -> None:
    # docs/explain-a-rank.md, "What can change it".
    write(home, [decision("retract", 35819, "2026-09-01")])
    assert materialize(instance, warehouse).success
    events = (
        "select runs.external_id, cause, strftime(taken_at, '%Y-%m-%d') from record_events "
        f"{GROUP} order by event_number"
    )
    assert rows(home, events) == [
        ("19995", "new_run", "2026-07-10"),
        ("35781", "new_run", "2026-08-09"),
        ("35819", "new_run", "2026-08-10"),
        ("35781", "retraction", "2026-09-01"),
    ]
    first = "select external_id from rankings_as_of('{}') " + GROUP + " and rank = 1"
    assert rows(home, first.format("2026-08-31T23:59:59Z")) == [("35819",)]
    assert rows(home, first.format("2026-09-01T00:00:00Z")) == [("35781",)]
    assert rows(home, "select count(*) from leaderboard where external_id = '35819'") == [(0,)]
    assert rows(home, "select who, why from decisions") == [("Ada Lovelace", "It reads the answer.")]


def test_taking_it_out_undoes_it(home: Home, instance: dg.DagsterInstance) -> None:
    before = versions(materialize(instance))
    write(home, [decision("retract", 35819, "2026-09-01")])
    between = versions(materialize(instance))
    write(home, [])
    after = versions(materialize(instance))
    assert after == before
    differ = {name for name in before if between[name] != before[name]}
    assert differ == {"decisions", "review", "exclusions", "rankings", "comparison_groups", "record_events"}


def test_reruns_change_evidence_and_nothing_else_but_the_order_shown(
    home: Home, instance: dg.DagsterInstance
) -> None:
    before = versions(materialize(instance))
    rerun = {"kind": "controlled_rerun", "confirms": True, "link": "https://example.org/1", **SAID}
    write(home, [], reruns=[rerun, {**rerun, "who": "Ada Lovelace"}])
    result = materialize(instance, warehouse)
    after = versions(result)
    assert {name for name in before if after[name] != before[name]} == {"attestations", "evidence"}
    level = "select evidence.evidence_level from evidence join runs using (run_digest)"
    assert rows(home, f"{level} where external_id = '35781'") == [("replicated",)]


def test_what_can_not_count_is_set_aside_and_the_rest_is_ranked_and_published(
    home: Home, instance: dg.DagsterInstance
) -> None:
    note = {"kind": "note", "text": "?", **SAID, "run": "sha256:ffff"}
    write(
        home,
        [
            decision("retract", 999999, "2026-09-01"),
            decision("retract", 35819, "2026-09-01"),
            decision("accept", 26346, "2026-09-01"),
            {"decision": "retract", "run": "26346"},
        ],
        notes=[note],
    )
    assert materialize(instance, warehouse, check_rankings).success
    assert rows(home, "from entries_set_aside") == [
        ("decisions.yaml", 1, "retract 999999", "there is no submission 999999"),
        (
            "decisions.yaml",
            3,
            "accept 26346",
            "nothing flags the run of submission 26346: take the entry out, or retract the run",
        ),
        ("decisions.yaml", 4, "retract 26346", "retract.date: Field required; and 3 more"),
        (
            "notes.yaml",
            1,
            "note sha256:ffff",
            "there is no run whose digest is, or starts with, sha256:ffff",
        ),
    ]
    assert rows(home, "select external_id, decision from decisions") == [("35819", "retract")]
    assert rows(home, "select count(*) from exclusions") == [(1,)]


def test_entries_that_are_set_aside_are_a_warning_with_rows(home: Home, instance: dg.DagsterInstance) -> None:
    write(home, [decision("retract", 999999, "2026-09-01")])
    result = materialize(instance, check_rankings)
    (found,) = [
        evaluation
        for evaluation in result.get_asset_check_evaluations()
        if evaluation.check_name == "all_entries_count"
    ]
    assert (found.passed, found.severity) == (False, dg.AssetCheckSeverity.WARN)
    assert found.metadata["broken"].value == 1


def test_entries_that_are_set_aside_are_said_by_the_doctor_and_at_the_end_of_commands(
    home: Home, instance: dg.DagsterInstance, capsys: pytest.CaptureFixture[str]
) -> None:
    write(home, [decision("retract", 999999, "2026-09-01")])
    assert materialize(instance, warehouse).success
    said = "decisions.yaml, entry 1 (retract 999999) was set aside: there is no submission 999999"
    assert said in [finding.problem for finding in examine(home).findings if finding.is_wrong]
    capsys.readouterr()
    cli._say_set_aside(home)
    assert capsys.readouterr().err == f"kernelindex: {said}\n"


def test_a_file_of_decisions_that_can_not_be_read_fails_and_the_old_warehouse_stays(
    home: Home, instance: dg.DagsterInstance
) -> None:
    assert materialize(instance, warehouse).success
    before = home.warehouse.read_bytes()
    (home.directory.parent / "decisions.yaml").write_text("[" * 3_000, "utf-8")
    result = materialize(instance, warehouse)
    assert not result.success
    (failure,) = [event for event in result.all_events if event.is_step_failure]
    assert failure.step_failure_data.user_failure_data is not None
    assert failure.step_failure_data.user_failure_data.description == (
        "nothing was ranked: decisions.yaml can't be read: it is nested too deep"
    )
    assert home.warehouse.read_bytes() == before
