"""`kernelindex sql`: what it writes in which format, and that it can change and reach nothing."""

import csv
import hashlib
import io
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.commands.asking import GQA_BACKWARD, HOSTILE, OF_HOSTILE_NAME, Kernelindex
from warehouse.home import Home

FIRST = (
    f"select project, rank from leaderboard where kernel = '{GQA_BACKWARD}' and stack = 'v1.1' order by rank"
)
OF_HOSTILE = f"select project from leaderboard where submission_id = {OF_HOSTILE_NAME}"
ODD = "select null as a, [1, 2] as b, '2026-08-14 05:38:44Z'::timestamptz as c, true as d"
NO_NUMBERS = "select 'inf'::double as a, '-inf'::double as b, ['nan'::float] as c, 'nan'::double as d"


def test_a_table_is_for_people(kernelindex: Kernelindex) -> None:
    assert kernelindex("sql", FIRST).lines == [
        "project                  rank",
        "Amir M. Mir | SF Tensor     1",
        "doubleAI                    2",
        "Gilded Quail                3",
        "3 rows",
        "",
    ]


def test_a_table_that_does_not_fit_is_shown_row_under_row(kernelindex: Kernelindex) -> None:
    ended = kernelindex("sql", "from leaderboard limit 2", env={"COLUMNS": "80"})
    assert ended.lines[0].split()[0] == "kernel"
    assert max(map(len, ended.lines)) <= 80
    assert ended.text.count("\nproject  ") == 2


def test_csv_holds_the_data_as_it_is(kernelindex: Kernelindex) -> None:
    rows = list(csv.reader(io.StringIO(kernelindex("sql", FIRST, "--format", "csv").text)))
    assert rows[:2] == [["project", "rank"], ["Amir M. Mir | SF Tensor", "1"]]
    rows = list(csv.reader(io.StringIO(kernelindex("sql", OF_HOSTILE, "--format", "csv").text, newline="")))
    assert rows == [["project"], [HOSTILE]]


def test_json_has_lists_and_objects(kernelindex: Kernelindex) -> None:
    assert kernelindex("sql", ODD, "--format", "json").json == [
        {"a": None, "b": [1, 2], "c": "2026-08-14T05:38:44Z", "d": True}
    ]
    (row,) = kernelindex("sql", "select manifest from runs limit 1", "--format", "json").json
    assert row["manifest"]["kind"] == "BenchmarkRun"


def test_csv_writes_the_same_values(kernelindex: Kernelindex) -> None:
    written = kernelindex("sql", ODD, "--format", "csv").text
    assert written == 'a,b,c,d\n,"[1, 2]",2026-08-14T05:38:44Z,true\n'


def test_what_is_no_number_is_written_as_duckdb_reads_it(kernelindex: Kernelindex) -> None:
    written = kernelindex("sql", NO_NUMBERS, "--format", "csv").text
    assert written == 'a,b,c,d\ninf,-inf,"[""NaN""]",nan\n'
    assert (
        kernelindex("sql", NO_NUMBERS, "--format", "markdown").lines[2]
        == '| inf | -inf | \\["NaN"\\] | nan |'
    )
    assert kernelindex("sql", NO_NUMBERS).lines[1].split() == ["inf", "-inf", '["NaN"]', "nan"]


def test_what_is_no_number_is_a_string_in_json(kernelindex: Kernelindex) -> None:
    assert kernelindex("sql", NO_NUMBERS, "--format", "json").json == [
        {"a": "Infinity", "b": "-Infinity", "c": ["NaN"], "d": "NaN"}
    ]


def test_decimals_keep_all_their_digits(kernelindex: Kernelindex) -> None:
    decimals = "select 12345678901234567890.0123456789::decimal(38, 10) as a, 1e-9::decimal(10, 10) as b"
    written = kernelindex("sql", decimals, "--format", "csv").text
    assert written == "a,b\n12345678901234567890.0123456789,0.0000000010\n"


def test_columns_of_one_name_are_told_apart(kernelindex: Kernelindex) -> None:
    twice = "select 1 as a, 2 as a"
    assert kernelindex("sql", twice, "--format", "json").json == [{"a": 1, "a_1": 2}]
    parquet = kernelindex("sql", twice, "--format", "parquet").written
    assert pq.read_table(io.BytesIO(parquet)).to_pylist() == [{"a": 1, "a_1": 2}]
    assert kernelindex("sql", twice, "--format", "csv").text == "a,a\n1,2\n"


def test_names_mean_nothing_in_markdown(kernelindex: Kernelindex) -> None:
    lines = kernelindex("sql", OF_HOSTILE, "--format", "markdown").lines
    assert lines[:2] == ["| project |", "| --- |"]
    assert lines[2].startswith("| Mal\ufffd\\[31mory \\[bold\\]=cmd()\\|\\`x\\` 1  \\<script\\>")


def test_parquet_has_the_types(kernelindex: Kernelindex) -> None:
    written = kernelindex("sql", "from runs", "--format", "parquet").written
    table = pq.read_table(io.BytesIO(written))
    assert str(table.schema.field("observed_at").type) == "timestamp[us, tz=UTC]"
    assert table.num_rows > 20


def test_names_do_nothing_to_a_terminal(kernelindex: Kernelindex) -> None:
    text = kernelindex("sql", OF_HOSTILE).text
    assert "Mal\ufffd[31mory [bold]=cmd()|`x`\ufffd1  <script>" in text
    assert all(character.isprintable() or character == "\n" for character in text)


def test_of_several_statements_the_last_ones_result_is_written(kernelindex: Kernelindex) -> None:
    text = kernelindex("sql", "create temp table t as select 1 as x; select x + 1 as y from t").text
    assert text.split() == ["y", "2", "1", "row"]


def test_statements_come_from_a_file_or_from_standard_input(kernelindex: Kernelindex, tmp_path: Path) -> None:
    question = tmp_path / "question.sql"
    question.write_text("select 'µ' as x;\n-- that is all\n", "utf-8")
    from_file = kernelindex("sql", "--file", question).text
    assert from_file.split() == ["x", "µ", "1", "row"]
    assert kernelindex("sql", "-", input="select 'µ' as x").text == from_file
    assert kernelindex("sql", "--file", "-", input="select 'µ' as x").text == from_file


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "give SQL, as"),
        (["select 1", "--file", "x.sql"], "SQL is given twice, as words and with --file"),
        (["--file", "none.sql"], "none.sql can't be read: No such file or directory\n"),
        (["--file", sys.executable], "can't be read: it is no text in UTF-8"),
        (["/* nothing */"], "the last statement gives nothing; end with a query"),
        (["select nosuch from runs"], 'Referenced column "nosuch" not found'),
        (["select * form runs"], "\n\nLINE 1: select * form runs\n                      ^"),
        (["select error('bad' || chr(27) || '[2J')"], "bad\ufffd[2J"),
        (["select 1::int8 + 'x'::int8"], "Could not convert string 'x'"),
    ],
)
def test_what_can_not_be_run_is_said_in_a_sentence(
    kernelindex: Kernelindex, arguments: list[str], said: str
) -> None:
    ended = kernelindex("sql", *arguments)
    assert (ended.code, ended.written) == (1, b"")
    assert said in ended.complaint
    assert "Traceback" not in ended.complaint


@pytest.mark.parametrize(
    "statements",
    [
        "create table runs_of_mine as from runs",
        "delete from runs",
        "drop view leaderboard",
        "use memory; detach warehouse; attach '{file}' as mine; create table mine.x as select 1",
        "attach '{file}' as mine (read_write)",
        "attach '{directory}/new.duckdb'",
        "copy runs to '{directory}/new.csv'",
        "copy (select 1) to '{file}'",
        "export database '{directory}/new'",
        "from read_csv('/etc/passwd')",
        "from read_text('/etc/passwd')",
        "from '/etc/passwd'",
        "from glob('/*')",
        "from read_csv('https://example.org/x.csv')",
        "install httpfs",
        "load httpfs",
        "set enable_external_access = true; select 1",
        "reset enable_external_access; from read_text('/etc/passwd')",
        "set lock_configuration = false; select 1",
    ],
)
def test_nothing_is_changed_and_no_other_file_is_reached(
    kernelindex: Kernelindex, asked_home: Home, tmp_path: Path, statements: str
) -> None:
    before = hashlib.sha256(asked_home.warehouse.read_bytes()).digest()
    ended = kernelindex("sql", statements.format(file=asked_home.warehouse, directory=tmp_path))
    assert ended.code == 1
    assert "Traceback" not in ended.complaint
    assert hashlib.sha256(asked_home.warehouse.read_bytes()).digest() == before
    assert not list(tmp_path.iterdir())
    assert {path.name for path in asked_home.directory.glob("warehouse*")} == {"warehouse.duckdb"}


def test_times_are_shown_in_utc(kernelindex: Kernelindex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert (
        "2026-05-20T22:22:23.696"
        in kernelindex("sql", "select observed_at from runs where external_id = '3268'").text
    )
