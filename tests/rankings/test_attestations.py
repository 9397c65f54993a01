"""Attestations: how their files are read, and which of them evidence follows from."""

import re
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.rankings import attestations as module
from assets.rankings.attestations import read_attestations, resolve_attestations
from assets.rankings.rank import rank
from tests.rankings.boards import ANY_RUN, MANIFESTS, NOVEMBER, Row, queried, tabled
from warehouse.tables import IMPLEMENTATIONS, RUNS, SOURCE_SUBMISSIONS, WORKLOADS

SAID = {"run": "3268", "date": "2026-08-20", "who": "Grace Hopper"}
NOTE = {"kind": "note", "text": "Slow on odd lengths.", **SAID}
REPLICATION = {"kind": "replication", "confirms": "true", "link": "https://example.org/7", **SAID}
RERUN = {**REPLICATION, "kind": "controlled_rerun"}


def saved(directory: Path, **files: list[Row]) -> Path:
    for name, entries in files.items():
        (directory / f"{name}.yaml").write_text(yaml.safe_dump(entries), "utf-8")
    return directory


def evidence(directory: Path, level: str = "reported", **files: list[Row]) -> Row:
    """The row of `evidence` of run 3268, whose page alone says `level`."""
    run = ANY_RUN | {"run_digest": "sha256:0a", "implementation_digest": "sha256:0b", "primary_value": 1}
    run |= {"manifest": MANIFESTS["source-native"], "evidence_level": level}
    with duckdb.connect() as connection:
        connection.register("runs", tabled([run], RUNS.schema))
        connection.register("implementations", tabled([], IMPLEMENTATIONS.schema))
        connection.register("workloads", tabled([], WORKLOADS.schema))
        connection.register("source_submissions", tabled([], SOURCE_SUBMISSIONS.schema))
        entries, _ = read_attestations(saved(directory, **files), now=NOVEMBER)
        rank(connection, attestations=resolve_attestations(connection, entries)[0])
        (row,) = queried(connection, "from evidence")
    assert row["run_digest"] == "sha256:0a"
    return dict(row)


def set_aside(directory: Path) -> dict[str, str]:
    """Why entries of a directory's files can't count; submission 3268 is no run, and there is no other."""
    with duckdb.connect() as connection:
        connection.register("runs", tabled([], RUNS.schema))
        submission = {"submission_id": 3268, "kernel_id": 1, "outcome": "INCORRECT"}
        connection.register("source_submissions", tabled([submission], SOURCE_SUBMISSIONS.schema))
        entries, wrong = read_attestations(directory, now=NOVEMBER)
        _, unfounded = resolve_attestations(connection, entries)
    return {str(place): problem for place, problem in (wrong | unfounded).items()}


def test_the_examples_of_the_readme_can_be_read(tmp_path: Path) -> None:
    readme = (module.ATTESTATIONS_DIRECTORY / "README.md").read_text("utf-8")
    (tmp_path / "examples.yaml").write_text(readme.split("```yaml")[1].split("```")[0], "utf-8")
    entries, _ = read_attestations(tmp_path, now=NOVEMBER)
    assert [entry.kind for entry in entries.values()] == ["note", "replication", "controlled_rerun"]


def test_none_ship_with_the_project() -> None:
    assert read_attestations() == ({}, {})


def test_files_are_read_in_order_of_their_names(tmp_path: Path) -> None:
    entries, _ = read_attestations(saved(tmp_path, b=[NOTE], a=[REPLICATION, RERUN]), now=NOVEMBER)
    assert [(place.file, place.entry) for place in entries] == [("a.yaml", 1), ("a.yaml", 2), ("b.yaml", 1)]


def without(entry: Row, name: str) -> Row:
    return {key: value for key, value in entry.items() if key != name}


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        (without(NOTE, "who"), "^note.who: Field required$"),
        (without(NOTE, "text"), "text: Field required"),
        (without(REPLICATION, "confirms"), "confirms: Field required"),
        (without(REPLICATION, "link"), "link: Field required"),
        ({**REPLICATION, "confirms": "perhaps"}, "confirms: Input should be a valid boolean"),
        ({**REPLICATION, "latency_ms": "0"}, "latency_ms: Input should be greater than 0"),
        ({**NOTE, "evidence_level": "verified"}, "evidence_level: Extra inputs are not permitted"),
        ({**NOTE, "kind": "verified"}, "'verified'"),
        ({**NOTE, "date": "2027-01-01"}, "which is still to come"),
        ({**NOTE, "run": "99"}, "^there is no submission 99$"),
    ],
)
def test_a_mistake_costs_its_entry_alone(tmp_path: Path, entry: Row, problem: str) -> None:
    ((place, found),) = set_aside(saved(tmp_path, notes=[NOTE, entry])).items()
    assert place.startswith("notes.yaml, entry 2 (")
    assert re.search(problem, found)


def test_a_file_that_can_not_be_read_costs_itself_alone(tmp_path: Path) -> None:
    saved(tmp_path, notes=[NOTE])
    (tmp_path / "deep.yaml").write_text("[" * 3_000)
    (tmp_path / "other.yml").write_text("[]")
    assert set_aside(tmp_path) == {
        "deep.yaml": "deep.yaml can't be read: it is nested too deep",
        "other.yml": "it is not read: attestations are in files that end in .yaml",
    }
    assert len(read_attestations(tmp_path, now=NOVEMBER)[0]) == 1


def test_what_the_community_says_is_counted_and_changes_no_level(tmp_path: Path) -> None:
    row = evidence(tmp_path, notes=[NOTE, NOTE, REPLICATION, {**REPLICATION, "who": "Ada Lovelace"}])
    assert row | {"run_digest": None} == {
        "run_digest": None,
        "evidence_level": "reported",
        "confirming_reruns": 0,
        "controlled_reruns": 0,
        "replications": 2,
        "notes": 2,
    }


def test_one_controlled_rerun_verifies_and_two_by_different_people_replicate(tmp_path: Path) -> None:
    assert evidence(tmp_path, reruns=[RERUN])["evidence_level"] == "verified"
    twice = [RERUN, {**RERUN, "date": "2026-08-21", "who": "grace hopper"}]
    assert evidence(tmp_path, reruns=twice)["evidence_level"] == "verified"
    two = [RERUN, {**RERUN, "who": "Ada Lovelace"}]
    assert evidence(tmp_path, reruns=two)["evidence_level"] == "replicated"


def test_a_rerun_that_does_not_bear_a_run_out_is_counted_only(tmp_path: Path) -> None:
    row = evidence(tmp_path, reruns=[{**RERUN, "confirms": "false"}])
    assert (row["evidence_level"], row["controlled_reruns"], row["confirming_reruns"]) == ("reported", 1, 0)


@pytest.mark.parametrize("level", ["replicated", "verified", "reproducible", "reported"])
def test_no_rerun_takes_a_level_away(tmp_path: Path, level: str) -> None:
    assert evidence(tmp_path, level)["evidence_level"] == level
    raised = {"reproducible": "verified", "reported": "verified"}
    assert evidence(tmp_path, level, reruns=[RERUN])["evidence_level"] == raised.get(level, level)


@settings(deadline=None, max_examples=8)
@given(
    entries=st.lists(
        st.fixed_dictionaries(
            {
                "kind": st.sampled_from(["note", "replication", "controlled_rerun"]),
                "who": st.sampled_from(["Ada", "Bo", "Cy"]),
                "confirms": st.sampled_from(["true", "false"]),
            }
        ),
        max_size=6,
    )
)
def test_the_level_follows_from_confirming_controlled_reruns_alone(
    tmp_path_factory: pytest.TempPathFactory, entries: list[dict[str, Any]]
) -> None:
    of_kind = {"note": NOTE, "replication": REPLICATION, "controlled_rerun": RERUN}
    said = [
        of_kind[entry["kind"]] | {"who": entry["who"]}
        if entry["kind"] == "note"
        else of_kind[entry["kind"]] | entry
        for entry in entries
    ]
    people = {
        entry["who"]
        for entry in entries
        if entry["kind"] == "controlled_rerun" and entry["confirms"] == "true"
    }
    row = evidence(tmp_path_factory.mktemp("said"), said=said)
    assert row["evidence_level"] == ("reported", "verified", "replicated")[min(len(people), 2)]
