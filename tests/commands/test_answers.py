"""`compare`, `top`, `records` and `standings`: what they answer, and how it fits a terminal or a script."""

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from pipelines import answers
from tests.commands.asking import (
    FLAGGED,
    GQA_BACKWARD,
    OF_HOSTILE_NAME,
    RETRACTED,
    Kernelindex,
)
from warehouse.home import Home


def test_who_leads_a_kernel_and_by_how_much(kernelindex: Kernelindex) -> None:
    ended = kernelindex("top", "--kernel", GQA_BACKWARD, "--stack", "v1.1")
    assert ended.lines[:-1] == [
        f"{GQA_BACKWARD} · v1.1 · NVIDIA B200",
        "rank  project                   latency  × best     SOL  speedup  submission  flags",
        "   1  Amir M. Mir | SF Tensor  343.8 µs    1.00  0.6728    1.74×       28584",
        "   2  doubleAI                 348.3 µs    1.01  0.6671    1.72×       19945",
        "   3  Gilded Quail             486.0 µs    1.41  0.5542    1.22×       26346",
    ]


def test_without_a_kernel_the_best_of_each_group_is_shown(kernelindex: Kernelindex) -> None:
    rows = kernelindex("top", "--json").json
    assert len({row["comparison_key"] for row in rows}) == len(rows) == 8
    assert {row["rank"] for row in rows} == {1}
    assert sorted(rows, key=lambda row: -row["sol_score"]) == rows


def test_a_project_is_shown_at_its_best_in_each_group(kernelindex: Kernelindex) -> None:
    rows = kernelindex("top", "--project", "doubleAI", "--json").json
    assert {row["project"] for row in rows} == {"doubleAI"}
    assert [row["rank"] for row in rows] == sorted(row["rank"] for row in rows)
    assert any(row["rank"] > 1 for row in rows)


def test_families_and_stacks_narrow_it_down(kernelindex: Kernelindex) -> None:
    rows = kernelindex("top", "--family", "normalization", "--stack", "v1.0", "--json").json
    assert {(row["family"], row["stack"]) for row in rows} == {("normalization", "v1.0")}


def test_flags_stand_beside_the_runs_that_have_them(kernelindex: Kernelindex, published_home: Home) -> None:
    for command in ("top", "records"):
        asked = (command, "--family", "attention", "--home", published_home.directory)
        flagged = [line for line in kernelindex(*asked).lines if line.endswith("BELOW_SUITE_BOUND")]
        assert {line.split()[-2] for line in flagged} == {"15511", "20107"}
        rows = kernelindex(*asked, "--json").json
        assert {row["external_id"] for row in rows if row["flags"] == ["BELOW_SUITE_BOUND"]} == {
            "15511",
            "20107",
        }
        assert {row["external_id"] for row in rows if row["flags"] != []} == {"15511", "20107"}


def test_a_flag_that_people_accepted_is_open_no_more(published_home: Home, tmp_path: Path) -> None:
    with duckdb.connect(shutil.copy(published_home.warehouse, tmp_path)) as warehouse:
        warehouse.execute(
            "insert into decisions by name select external_id, run_digest, 'accept' as decision, "
            "now() as decided_at, '' as who, '' as why, '' as link from runs where external_id = '15511'"
        )
        rows = answers.top(warehouse, kernel=None, stack=None, family=None, project=None)
    flags = {row["external_id"]: row["flags"] for row in rows}
    assert (flags["15511"], flags["20107"]) == ([], ["BELOW_SUITE_BOUND"])


def test_what_is_left_out_is_said(kernelindex: Kernelindex) -> None:
    ended = kernelindex("top", "--limit", "2")
    assert "2 of 8; --limit 8 shows all" in ended.text
    assert len(kernelindex("top", "--limit", "2", "--json").json) == 2


@pytest.mark.parametrize(
    ("option", "name", "near"),
    [
        ("--kernel", "grouped_query", GQA_BACKWARD),
        ("--kernel", GQA_BACKWARD.replace("query", "qurey").upper(), GQA_BACKWARD),
        ("--project", "doublai", "doubleAI"),
        ("--project", "mal", "Mal\ufffd[31mory [bold]=cmd()"),
        ("--stack", "v1.2", "v1.1"),
        ("--family", "normalisation", "normalization"),
    ],
)
def test_a_name_that_is_misspelt_gets_the_nearest(
    kernelindex: Kernelindex, option: str, name: str, near: str
) -> None:
    for command in ("top", "records", *(["standings"] if option in ("--family", "--stack") else [])):
        ended = kernelindex(command, option, name)
        assert ended.code == 1
        assert f"there is no {option[2:]} {name!r} here; near to it: " in ended.complaint
        assert near in ended.complaint


def test_a_name_like_no_other_gets_some_that_are(kernelindex: Kernelindex) -> None:
    complaint = kernelindex("top", "--family", "zzz").complaint
    assert "there is no family 'zzz' here; there are " in complaint


def test_who_holds_the_records_the_newest_first(kernelindex: Kernelindex) -> None:
    rows = kernelindex("records", "--json").json
    assert [row["held_since"] for row in rows] == sorted((row["held_since"] for row in rows), reverse=True)
    assert str(RETRACTED) not in {row["external_id"] for row in rows}
    assert kernelindex("records", "--kernel", GQA_BACKWARD, "--stack", "v1.1").lines[1:3] == [
        " latency  held since  submission  flags",
        "343.8 µs  2026-07-26       28584",
    ]


def test_how_projects_stand(kernelindex: Kernelindex) -> None:
    rows = kernelindex("standings", "--json").json
    (double_ai,) = [row for row in rows if row["project"] == "doubleAI"]
    ranked = kernelindex("top", "--project", "doubleAI", "--json").json
    assert double_ai["groups"] == len(ranked)
    assert double_ai["firsts"] == sum(row["rank"] == 1 for row in ranked)
    assert rows == sorted(rows, key=lambda row: -row["firsts"])


def test_standings_are_by_family_or_by_stack(kernelindex: Kernelindex) -> None:
    assert {row["stack"] for row in kernelindex("standings", "--stack", "v1.1", "--json").json} == {"v1.1"}
    assert kernelindex("standings", "--family", "rope").lines[0] == "rope"
    both = kernelindex("standings", "--family", "rope", "--stack", "v1.1")
    assert (both.code, "give one of the two" in both.complaint) == (1, True)


def test_a_run_is_compared_with_the_first_of_its_group(kernelindex: Kernelindex) -> None:
    lines = [line.split("  ") for line in kernelindex("compare", "26346").lines]
    cells = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    assert ["submission 26346", "submission 28584"] in cells
    assert ["latency", "486.0 µs", "343.8 µs", "1.41×"] in cells
    assert ["SOL", "0.5542", "0.6728", "-0.1186"] in cells
    assert ["observed", "2026-07-20", "2026-07-26", "older"] in cells
    assert "the best of the others" not in kernelindex("compare", "26346").text


def test_the_first_of_its_group_is_compared_with_the_next_best_and_says_so(kernelindex: Kernelindex) -> None:
    text = kernelindex("compare", "28584").text
    assert text.splitlines()[1].split() == ["submission", "28584", "submission", "19945"]
    assert "It is #1 of its group itself: beside it stands the best of the others." in text


def test_any_two_runs_of_a_group_are_compared(kernelindex: Kernelindex) -> None:
    compared = kernelindex("compare", "26346", "sha256:159e59a8", "--json").json
    assert (compared["run"]["external_id"], compared["other"]["external_id"]) == ("26346", "28584")
    assert compared["latency_ratio"] == pytest.approx(485_961 / 343_753)


def test_a_run_without_a_rank_is_compared_and_says_so(kernelindex: Kernelindex) -> None:
    assert "none: RETRACTED" in kernelindex("compare", RETRACTED).text
    assert "BELOW_CASE_BOUND" in kernelindex("compare", FLAGGED).text


def test_runs_of_different_groups_are_refused_by_what_differs(kernelindex: Kernelindex) -> None:
    ended = kernelindex("compare", "26346", "14902")
    assert (ended.code, ended.written) == (1, b"")
    assert "they differ in protocol (SOL-ExecBench evaluation stack v1.1; " in ended.complaint


@pytest.mark.parametrize("width", [60, 80, 120])
def test_answers_fit_the_terminal_and_break_no_number(kernelindex: Kernelindex, width: int) -> None:
    for command in (["top"], ["records"], ["standings"], ["compare", OF_HOSTILE_NAME], ["show", "26346"]):
        ended = kernelindex(*command, env={"COLUMNS": str(width)})
        # A manifest and a command are for copying.
        text = ended.text.partition("Show manifest")[0]
        assert max(map(len, text.splitlines())) <= width, command
        if command == ["top"]:
            assert "343.8 µs" in text
            assert "doubleAI" in text


def test_what_goes_into_a_pipe_is_not_folded(kernelindex: Kernelindex) -> None:
    assert any(GQA_BACKWARD in line and "343.8 µs" in line for line in kernelindex("top").lines)


def test_colour_is_for_terminals_and_only_where_it_is_wanted(asked_home: Home) -> None:
    cyan = b"\x1b[1;36mIdentity"
    assert cyan in on_a_terminal(asked_home, "show", "3268")
    assert cyan not in on_a_terminal(asked_home, "show", "3268", NO_COLOR="1")


def on_a_terminal(home: Home, *arguments: str, **environment: str) -> bytes:
    """What a command writes to a terminal."""
    ours, its = pty.openpty()
    command = [sys.executable, "-m", "pipelines.cli", *arguments]
    known = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    environment = {**known, "TERM": "xterm", "KERNELINDEX_HOME": str(home.directory), **environment}
    with subprocess.Popen(command, stdin=its, stdout=its, stderr=its, env=environment) as process:
        os.close(its)
        written = b""
        try:
            while chunk := os.read(ours, 65536):
                written += chunk
        except OSError:  # Linux says so at the end.
            pass
        os.close(ours)
    assert process.returncode == 0
    return written


@pytest.mark.parametrize(
    "command",
    [
        ["show", "1"],
        ["compare", "1"],
        ["top"],
        ["records"],
        ["standings"],
        ["sql", "select 1"],
        ["verify", "page.html"],
    ],
)
def test_without_a_warehouse_each_command_says_what_to_do(
    kernelindex: Kernelindex, tmp_path: Path, command: list[str]
) -> None:
    ended = kernelindex(*command, "--home", tmp_path)
    assert ended.code == (2 if command[0] == "verify" else 1)
    assert "warehouse.duckdb is not there: run `kernelindex ingest` first" in ended.complaint
    assert "or name another home, with --home or KERNELINDEX_HOME" in ended.complaint


@pytest.mark.parametrize("command", [["top"], ["sql", "select 1"], ["show", "3268"], ["verify", "page.html"]])
def test_a_warehouse_that_is_damaged_is_named(
    kernelindex: Kernelindex, tmp_path: Path, command: list[str]
) -> None:
    (tmp_path / "warehouse.duckdb").write_bytes(b"not a database")
    ended = kernelindex(*command, "--home", tmp_path)
    assert ended.code == (2 if command[0] == "verify" else 1)
    assert "warehouse.duckdb can't be read: run `kernelindex" in ended.complaint
