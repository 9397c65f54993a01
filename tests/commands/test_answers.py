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
    FUSED_VISION,
    GQA_BACKWARD,
    OF_HOSTILE_NAME,
    RETRACTED,
    Kernelindex,
)
from tests.examples import AUDIO_ENCODER, RMSNORM
from tests.inbox.pages import FLUX
from warehouse.dossier import SOL_SCORE
from warehouse.home import Home

# On which nobody has a run on the newest stack.
OPEN = "010_attention_value_projection_with_transpose"


def test_who_leads_a_kernel_and_by_how_much(kernelindex: Kernelindex) -> None:
    ended = kernelindex("top", "--kernel", GQA_BACKWARD)
    assert ended.lines[:-1] == [
        f"{GQA_BACKWARD} · v1.1 · NVIDIA B200 · bound 113.4 µs",
        "rank  project                   latency  × best  × bound     SOL  gap  speedup  submission",
        "   1  Amir M. Mir | SF Tensor  343.8 µs    1.00     3.03  0.6728  51%    1.74×       28584",
        "   2  doubleAI                 348.3 µs    1.01     3.07  0.6671  50%    1.72×       19945",
        "   3  Gilded Quail             486.0 µs    1.41     4.29  0.5542  21%    1.22×       26346",
        "× bound: latency over the geometric mean of the speed-of-light bounds",
        "gap: of the way from the scoring baseline (0%) to the bound (100%)",
        f"SOL: {SOL_SCORE}",
        "on v1.1, the newest stack; --all-stacks shows v1.0 too",
    ]


def test_without_a_kernel_the_best_of_each_group_is_shown(kernelindex: Kernelindex) -> None:
    rows = kernelindex("top", "--all-stacks", "--json").json
    assert len({row["comparison_key"] for row in rows}) == len(rows) == 8
    assert {row["rank"] for row in rows} == {1}
    assert sorted(rows, key=lambda row: -row["sol_score"]) == rows


@pytest.mark.parametrize("command", ["top", "records", "standings"])
def test_answers_are_of_the_newest_stack_unless_others_are_asked_for(
    kernelindex: Kernelindex, command: str
) -> None:
    def stacks(*asked: str) -> set[str]:
        return {row["stack"] for row in kernelindex(command, *asked, "--json").json}

    assert stacks() == {"v1.1"}
    assert stacks("--stack", "v1.0") == {"v1.0"}
    assert stacks("--all-stacks") == {"v1.0", "v1.1"}
    said = "on v1.1, the newest stack; --all-stacks shows v1.0 too"
    assert said in kernelindex(command).lines
    assert said not in kernelindex(command, "--stack", "v1.1").lines
    both = kernelindex(command, "--stack", "v1.1", "--all-stacks")
    assert (both.code, "give --stack or --all-stacks, not both" in both.complaint) == (1, True)


@pytest.mark.parametrize(
    ("option", "name", "meant"),
    [
        ("--kernel", "GQA_BACKWARD", set()),
        ("--kernel", "Grouped_Query", {GQA_BACKWARD}),
        ("--kernel", "rmsnorm", {RMSNORM, FLUX}),
        ("--project", "doubleai", {"doubleAI"}),
        ("--project", "DOUBLE", {"doubleAI"}),
        ("--project", "sf tensor", {"Amir M. Mir | SF Tensor"}),
        ("--tag", "l2", {AUDIO_ENCODER, FUSED_VISION, GQA_BACKWARD}),
        ("--family", "Rope", {"rope"}),
        ("--stack", "1.0", {"v1.0"}),
    ],
)
def test_names_are_found_by_a_part_of_them_in_any_case(
    kernelindex: Kernelindex, option: str, name: str, meant: set[str]
) -> None:
    column = "kernel" if option == "--tag" else option[2:]
    all_stacks = () if option == "--stack" else ("--all-stacks",)
    for command in ("top", "records"):
        ended = kernelindex(command, option, name, *all_stacks, "--json")
        assert (ended.code, {row[column] for row in ended.json} if meant else set()) == (not meant, meant)


def test_a_whole_name_means_that_alone(kernelindex: Kernelindex, published_home: Home) -> None:
    """Other families have the word in them too."""
    rows = kernelindex("top", "--family", "attention", "--home", published_home.directory, "--json").json
    assert {row["family"] for row in rows} == {"attention"}


def test_of_several_kernels_the_best_of_each_group_is_shown(kernelindex: Kernelindex) -> None:
    rows = kernelindex("top", "--kernel", "rmsnorm", "--json").json
    assert {row["rank"] for row in rows} == {1}
    assert {row["kernel"] for row in rows} == {RMSNORM, FLUX}


def test_a_kernel_without_submissions_says_so(kernelindex: Kernelindex, published_home: Home) -> None:
    there = ("--home", published_home.directory)
    said = f"{OPEN}: no submissions yet on v1.1; 3 ranked on v1.0: --stack v1.0"
    assert kernelindex("top", "--kernel", OPEN, *there).lines[0] == said
    assert kernelindex("top", "--kernel", OPEN, *there, "--json").json == []
    # Nor does it vanish from among others.
    assert said in kernelindex("top", "--tag", "other", *there).lines
    assert said not in kernelindex("top", "--tag", "other", "--project", "doubleAI", *there).lines


def test_a_kernel_with_submissions_none_of_which_is_ranked_says_so(
    published_home: Home, tmp_path: Path
) -> None:
    with duckdb.connect(shutil.copy(published_home.warehouse, tmp_path)) as warehouse:
        warehouse.execute(
            "insert into source_submissions select * replace (900004 as submission_id, "
            "'v1.1' as evaluation_stack_version, 'INCORRECT' as outcome) from source_submissions "
            "where kernel_id = (select kernel_id from source_kernels where kernel_name = $1) limit 1",
            [OPEN],
        )
        asked = answers.top(warehouse, kernel=OPEN)
        (listed,) = answers.listed(warehouse, "open-kernels").rows
    assert asked.notes[0] == f"{OPEN}: none of its submissions on v1.1 is ranked; there are 1"
    assert (listed["kernel"], listed["submissions"]) == (OPEN, 1)


def test_open_kernels_are_listed(kernelindex: Kernelindex, published_home: Home) -> None:
    there = ("--home", published_home.directory, "--json")
    (listed,) = kernelindex("list", "open-kernels", *there).json
    assert (listed["kernel"], listed["stack"], listed["submissions"]) == (OPEN, "v1.1", 0)
    older = kernelindex("list", "open-kernels", "--stack", "v1.0", *there).json
    assert len(older) == 16
    assert OPEN not in {row["kernel"] for row in older}


def test_kernels_families_tags_and_projects_are_listed(
    kernelindex: Kernelindex, published_home: Home
) -> None:
    there = ("--home", published_home.directory, "--json")
    kernels = kernelindex("list", "kernels", *there).json
    assert len(kernels) == 24
    tags = {row["tag"]: row for row in kernelindex("list", "tags", *there).json}
    attention = kernelindex("list", "kernels", "--tag", "attention", *there).json
    assert tags["attention"]["kernels"] == len(attention) > 2
    families = kernelindex("list", "families", *there).json
    assert sum(row["kernels"] for row in families) == 24
    assert sum(row["open_kernels"] for row in families) == 1
    projects = kernelindex("list", "projects", *there).json
    standings = kernelindex("standings", *there).json
    assert {(row["project"], row["groups"]) for row in projects} == {
        (row["project"], row["groups"]) for row in standings
    }


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
        asked = (command, "--family", "attention", "--all-stacks", "--home", published_home.directory)
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
        rows = answers.top(warehouse, all_stacks=True).rows
    flags = {row["external_id"]: row["flags"] for row in rows}
    assert (flags["15511"], flags["20107"]) == ([], ["BELOW_SUITE_BOUND"])


def test_what_is_left_out_is_said(kernelindex: Kernelindex) -> None:
    ended = kernelindex("top", "--limit", "2")
    assert "2 of 5; --limit 5 shows all" in ended.text
    assert len(kernelindex("top", "--limit", "2", "--json").json) == 2


@pytest.mark.parametrize(
    ("option", "name", "near"),
    [
        ("--kernel", GQA_BACKWARD.replace("query", "qurey").upper(), GQA_BACKWARD),
        ("--project", "doublai", "doubleAI"),
        ("--project", "malory [bold]=cmd()|`x` 1  <script>", "Mal\ufffd[31mory [bold]=cmd()"),
        ("--tag", "normalisation", "normalization"),
        ("--stack", "v1.2", "v1.1"),
        ("--family", "normalisation", "normalization"),
    ],
)
def test_a_name_that_is_misspelt_gets_the_nearest(
    kernelindex: Kernelindex, option: str, name: str, near: str
) -> None:
    commands = {"--family": ["standings", "list"], "--stack": ["standings", "list"], "--tag": ["list"]}
    for command in ("top", "records", *commands.get(option, [])):
        arguments = ["kernels"] if command == "list" else []
        ended = kernelindex(command, *arguments, option, name)
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
        " latency  held since  submission",
        "343.8 µs  2026-07-26       28584",
    ]


def test_how_projects_stand(kernelindex: Kernelindex) -> None:
    rows = kernelindex("standings", "--json").json
    (double_ai,) = [row for row in rows if row["project"] == "doubleAI"]
    ranked = kernelindex("top", "--project", "doubleAI", "--json").json
    assert double_ai["groups"] == len(ranked)
    assert double_ai["firsts"] == sum(row["rank"] == 1 for row in ranked)
    assert rows == sorted(rows, key=lambda row: -row["firsts"])


def test_standings_are_by_family_and_by_stack(kernelindex: Kernelindex) -> None:
    assert {row["stack"] for row in kernelindex("standings", "--stack", "v1.0", "--json").json} == {"v1.0"}
    assert kernelindex("standings", "--family", "rope").lines[0] == "rope · v1.1"
    assert (
        kernelindex("standings", "--family", "rope", "--stack", "v1.0").lines[0] == "doubleAI · rope · v1.0"
    )


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
        ["list", "tags"],
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
