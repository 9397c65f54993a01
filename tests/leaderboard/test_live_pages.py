"""The part that holds a kernel's pages: every answer that came, and those that count."""

from datetime import timedelta

import pytest

from assets.leaderboard.pages import Pages
from assets.leaderboard.snapshots import Page
from tests.examples import Kernel, Row
from warehouse.home import Home
from warehouse.parquet import table_of
from warehouse.parts import part_version, read_tables
from warehouse.tables import PAGES


@pytest.fixture
def pages(home: Home) -> Pages:
    return Pages(home, "gemm")


def kept(pages: Pages, *answers: Page) -> list[Row]:
    return [pages.keep(answer) for answer in answers]


def later(page: Page, seconds: int) -> Page:
    return Page(page.locator, page.body, page.fetched_at + timedelta(seconds=seconds), page.resolved_locator)


def test_bytes_are_stored_before_anything_is_written(pages: Pages, gemm: Kernel) -> None:
    (row,) = kept(pages, gemm.definition_page())
    assert pages.read(row) == gemm.definition_page()
    assert not pages.path.exists()


def test_pages_count_once_they_are_written(pages: Pages, gemm: Kernel, home: Home) -> None:
    rows = kept(pages, *gemm.pages())
    assert Pages(home, "gemm").current == []
    assert pages.write(rows, 3)
    again = Pages(home, "gemm")
    assert [again.read(row) for row in again.current] == gemm.pages()
    assert again.submission_count == 3


def test_every_set_of_pages_that_ever_counted_is_known(pages: Pages, gemm: Kernel, home: Home) -> None:
    first = kept(pages, *gemm.pages())
    pages.write(first, None)
    del gemm.submissions[0]
    second = kept(pages, gemm.definition_page(), later(gemm.submissions_page(), 1))
    pages.write(second, None)
    assert [[row["page_digest"] for row in edition] for edition in Pages(home, "gemm").editions] == [
        [row["page_digest"] for row in rows] for rows in (first, second)
    ]


def test_the_same_bytes_at_another_time_are_no_other_edition(pages: Pages, gemm: Kernel, home: Home) -> None:
    pages.write(kept(pages, *gemm.pages()), None)
    version = part_version(pages.path)
    assert not pages.write(kept(pages, *(later(page, 1) for page in gemm.pages())), None)
    again = Pages(home, "gemm")
    assert (len(again.editions), len(again.answers)) == (1, 4)
    assert part_version(pages.path) == version


def test_an_answer_is_on_record_once(pages: Pages, gemm: Kernel) -> None:
    (row,) = kept(pages, gemm.definition_page())
    pages.add(row)
    assert pages.answers == [row]


def test_what_is_kept_in_the_same_file_stays(pages: Pages, gemm: Kernel, home: Home) -> None:
    rows = kept(pages, *gemm.pages())
    pages.write(rows, None, {"listed": table_of([], PAGES.schema)})
    again = Pages(home, "gemm")
    again.write(kept(again, later(gemm.definition_page(), 5)), None)
    assert "listed" in read_tables(pages.path)
