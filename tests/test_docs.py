"""What README.md and docs/ show: every query, command and example in them runs, and gives what they say.

A fenced block is run by the language that it is marked with:

- `sql`: on the sample's warehouse; a table right after the block is its answer
- `python`: as it is
- `sh`, `console` or none: its commands of `kernelindex`, `python -c` and `duckdb`; those of `make` must
  be there; in a console, what follows a `$ command` is what it prints

A page is followed from its beginning, in a directory whose home, `data`, is the sample's. Of commands that
fetch, serve or want the reader's own files, only the options are looked at.
"""

import re
import runpy
import shlex
import shutil
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import duckdb
import pytest
import typer
from typer.testing import CliRunner

import warehouse
from pipelines.cli import app
from tests.inbox.pages import Page, flux, page, prepared, published, read
from warehouse.home import Home
from warehouse.reference import reference

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
COOKBOOK = ROOT / "docs" / "cookbook.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$\n?((?:\n(?:\|[^\n]*\n)+)?)", re.DOTALL | re.MULTILINE)
CELL = re.compile(r"(?<!\\)\|")
LINK = re.compile(r"\]\(([^)#]*)")
ONLY_PARSED = {"ingest", "read", "rebuild", "ui", "verify"}


class Block(NamedTuple):
    """A fenced block, where it stands, and the table right after it, if there is one."""

    page: str
    line: int
    language: str
    text: str
    table: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(path: Path) -> list[Block]:
    text = path.read_text("utf-8")
    return [
        Block(path.name, text.count("\n", 0, match.start()) + 1, *match.groups())
        for match in BLOCK.finditer(text)
    ]


def queries(*paths: Path) -> list[Block]:
    return [block for path in paths for block in blocks(path) if block.language == "sql"]


@pytest.fixture(scope="module")
def connection(published_home: Home) -> Iterator[duckdb.DuckDBPyConnection]:
    with warehouse.connect(published_home.directory) as connection:
        yield connection


@pytest.fixture
def beside_data(
    published_home: Home, sample_home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a directory with a home `data`, as `make run` leaves it."""
    shutil.copytree(sample_home.directory, tmp_path / "data")
    shutil.copy(published_home.warehouse, tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KERNELINDEX_HOME", raising=False)
    monkeypatch.setenv("COLUMNS", "110")


@pytest.mark.parametrize("block", queries(*PAGES), ids=str)
def test_a_query_gives_what_the_page_says(connection: duckdb.DuckDBPyConnection, block: Block) -> None:
    found = connection.execute(block.text)
    names, rows = [column[0] for column in found.description or ()], found.fetchall()
    if block.table:
        header, _, *shown = [
            [cell.strip() for cell in CELL.split(line)[1:-1]] for line in block.table.strip().splitlines()
        ]
        assert names == header
        assert [[as_shown(value) for value in row] for row in rows] == shown


def as_shown(value: object) -> str:
    """A value as the pages write it."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value).replace("|", r"\|")


@pytest.mark.parametrize("path", [COOKBOOK, ROOT / "docs" / "explain-a-rank.md"], ids=lambda path: path.name)
def test_every_query_of_these_pages_has_its_answer_beside_it(path: Path) -> None:
    assert len(queries(path)) > 10
    assert all(block.table for block in queries(path))


def test_the_cookbook_answers_twenty_questions() -> None:
    assert COOKBOOK.read_text("utf-8").count("\n### ") == len(queries(COOKBOOK)) == 20


def test_the_cookbooks_question_of_cases_is_answered_where_pages_were_saved(home: Home) -> None:
    kernel = flux()
    kernel.submissions.append(kernel.submissions[0] | {"id": 50_000, "username": "Slower", "latency_ms": 1.0})
    slower = [[name, "9.0000", *cells] for name, _, *cells in page().rows]
    prepared(home, kernel)
    read(home, page().html(), "a.html")
    details = page().but(user="Slower").details
    read(home, Page("Submission #50000", details, rows=tuple(map(tuple, slower))).html(), "b.html")
    published(home)
    (query,) = (block.text for block in queries(COOKBOOK) if "from case_against_head" in block.text)
    with warehouse.connect(home.directory) as connection:
        rows = connection.sql(query).to_arrow_table().to_pylist()
    assert len(rows) == 16
    assert {(row["head_project"], row["latency_ms"]) for row in rows} == {("Byte-Naut", 9.0)}


@pytest.mark.usefixtures("beside_data")
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_page_can_be_followed(path: Path) -> None:
    for block in blocks(path):
        if block.language == "python":
            run_python(block.text, str(block))
        elif block.language in ("sh", "console", ""):
            for line, printed in commands(block):
                run(line, printed)


@pytest.mark.usefixtures("beside_data")
def test_the_notebook_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "docs" / "notebook.py"))
    assert "062_kv_cache_update_with_rope_backward" in capsys.readouterr().out


def commands(block: Block) -> list[tuple[str, list[str]]]:
    """The commands in a block, and the lines that a console shows below each."""
    prompt = "$ " if block.language == "console" else ""
    found: list[tuple[str, list[str]]] = []
    for line in block.text.replace("\\\n", " ").splitlines():
        if line.startswith(prompt):
            found.append((line.removeprefix(prompt).removeprefix(".venv/bin/"), []))
        else:
            found[-1][1].append(line.rstrip())
    return found


def run(line: str, printed: list[str]) -> None:
    """Run a command in this process, of a pipe the first; what is none that we know is passed over."""
    if not line.startswith(("kernelindex ", "python -c ", "duckdb ", "make ")):
        return
    words = shlex.split(line, comments=True)
    until = next((place for place, word in enumerate(words) if word[0] in "|<>&;"), None)
    program, *arguments = words[:until]
    if program == "make":
        assert f"\n{arguments[0]}:" in (ROOT / "Makefile").read_text("utf-8"), line
    elif program == "duckdb":
        with warehouse.connect() as connection:
            connection.execute(arguments[-1])
    elif program == "python":
        run_python(arguments[1], line)
    else:
        name, *options = arguments
        typer.main.get_group(app).commands[name].make_context(name, list(options))
        if name not in ONLY_PARSED:
            result = CliRunner().invoke(app, arguments)
            assert result.exit_code == 0, (line, result.output)
            assert printed in ([], [line.rstrip() for line in result.stdout.splitlines()])


def run_python(code: str, name: str) -> None:
    with redirect_stdout(StringIO()):
        exec(compile(code, name, "exec"), {})


def test_the_reference_says_what_the_warehouse_says(connection: duckdb.DuckDBPyConnection) -> None:
    said = (ROOT / "docs" / "reference.md").read_text("utf-8")
    assert said == reference(connection), "run `python -m warehouse.reference > docs/reference.md`"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for target in LINK.findall(path.read_text("utf-8")):
        assert "://" in target or (path.parent / target).exists(), target
