"""The page that explains a rank: each of its queries gives what the page says it gives."""

import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from assets.leaderboard import recorded
from tests.rankings.boards import published
from warehouse.home import Home

PAGE = Path(recorded.__file__).parents[2] / "docs" / "explain-a-rank.md"
# A query, and right after it the table of what it gives.
EXAMPLE = re.compile(r"```sql\n(.+?)\n```\n\n((?:\|[^\n]*\n)+)", re.DOTALL)
CELL = re.compile(r"(?<!\\)\|")
EXAMPLES = [(query, table) for query, table in EXAMPLE.findall(PAGE.read_text("utf-8"))]


@pytest.fixture(scope="module")
def warehouse(sample_home: Home) -> Iterator[duckdb.DuckDBPyConnection]:
    with published(sample_home) as connection:
        yield connection


def test_every_query_of_the_page_has_its_result_beside_it() -> None:
    assert len(EXAMPLES) == PAGE.read_text("utf-8").count("```sql") > 10


@pytest.mark.parametrize(("query", "table"), EXAMPLES, ids=[query[:40] for query, _ in EXAMPLES])
def test_a_query_gives_what_the_page_says(
    warehouse: duckdb.DuckDBPyConnection, query: str, table: str
) -> None:
    header, _, *rows = [
        [cell.strip() for cell in line.strip("|\n").split("|")] for line in table.splitlines()
    ]
    found = warehouse.execute(query)
    assert [column[0] for column in found.description or ()] == header
    assert [[shown(value) for value in row] for row in found.fetchall()] == rows


def shown(value: object) -> str:
    """A value as the page writes it."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value).replace("|", r"\|")
