"""A crawl of a server that serves saved answers ends in the tables that these answers end in."""

from pathlib import Path

from assets.leaderboard.sources import DirectorySource, SavedSource
from tests.examples import Row, ingest, make_tables
from tests.leaderboard_server import LeaderboardServer
from tests.live_crawls import crawl, saved_sample, tables_without
from warehouse.home import Home
from warehouse.parquet import read_table, rows_of
from warehouse.tables import PAGES

# A saved listing of submissions says limit 20, since nobody asked for more; the crawler asks for 50, and is
# told so. So the bytes of these pages differ, and with them the digest that each row read from them names.
# When a file was saved is not when the server answered. All else is equal.
LEFT_OUT = {
    "*": set[str](),
    "source_submissions": {"page_digest"},
    "runs": {"page_digest"},
    "submission_history": {"page_digest", "valid_from"},
    # Of how pages came nothing can be equal; that they are the same ones is looked at apart.
    "pages": set(PAGES.schema.names),
}


def pages(home: Home) -> list[Row]:
    return rows_of(read_table(home, PAGES))


def assert_a_crawl_is_equal(directory: Path, source: SavedSource, tmp_path: Path) -> None:
    saved, crawled = Home(tmp_path / "saved"), Home(tmp_path / "crawled")
    ingest(source, saved)
    with LeaderboardServer(directory) as server:
        assert not crawl(server.url, crawled).failed
    make_tables(crawled)
    assert tables_without(crawled, LEFT_OUT) == tables_without(saved, LEFT_OUT)
    assert {row["locator"] for row in pages(crawled)} == {row["locator"] for row in pages(saved)}
    assert digests(crawled) == digests(saved)


def digests(home: Home) -> set[str]:
    """Of all pages but the listings of submissions."""
    return {row["page_digest"] for row in pages(home) if row["locator"].startswith("/kernels")}


def test_a_crawl_of_the_sample_is_equal_table_for_table(tmp_path: Path) -> None:
    directory = saved_sample(tmp_path / "served")
    assert_a_crawl_is_equal(directory, DirectorySource(directory), tmp_path)


def test_a_crawl_of_the_archive_is_equal_table_for_table(archive: Path, tmp_path: Path) -> None:
    assert_a_crawl_is_equal(archive, DirectorySource(archive), tmp_path)


def test_a_server_that_gives_no_more_than_was_saved_leaves_no_difference_but_times(tmp_path: Path) -> None:
    directory = saved_sample(tmp_path / "served")
    saved, crawled = Home(tmp_path / "saved"), Home(tmp_path / "crawled")
    ingest(DirectorySource(directory), saved)
    with LeaderboardServer(directory) as server:
        server.max_limit = 20
        crawl(server.url, crawled)
    make_tables(crawled)
    left_out = {"*": set[str](), "submission_history": {"valid_from"}, "pages": LEFT_OUT["pages"]}
    assert tables_without(crawled, left_out) == tables_without(saved, left_out)


def test_crawling_again_changes_no_table_but_that_of_pages(
    sample_server: LeaderboardServer, home: Home
) -> None:
    crawl(sample_server.url, home)
    make_tables(home)
    before = files(home)
    for incremental in (False, True):
        crawl(sample_server.url, home, incremental=incremental)
    make_tables(home)
    assert [name for name, content in files(home).items() if content != before[name]] == ["pages.parquet"]


def files(home: Home) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(home.directory.glob("tables/*"))}
