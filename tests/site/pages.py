"""What the tests of the site share: its pages, and how one finds things in them."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bs4 import BeautifulSoup, Tag


@dataclass(frozen=True)
class Pages:
    """The pages of a site, by their paths."""

    by_path: dict[str, BeautifulSoup]

    def tags(self, *names: str) -> Iterator[tuple[str, Tag]]:
        """All tags of these names, or all there are, each with the path of its page."""
        for path, page in self.by_path.items():
            for tag in page.find_all(names or True):
                assert isinstance(tag, Tag)
                yield path, tag

    def titled(self, heading: str) -> BeautifulSoup:
        """The one page with that heading, white space apart."""
        (page,) = [
            page
            for page in self.by_path.values()
            if page.h1 is not None and words(page.h1.get_text()) == words(heading)
        ]
        return page

    def of_submission(self, submission: str) -> BeautifulSoup:
        """The page of a submission's run."""
        (page,) = [
            page
            for path, page in self.by_path.items()
            if path.startswith("runs/") and f" submission/{submission} " in words(page.get_text(" "))
        ]
        return page


def read_pages(site: Path) -> Pages:
    """All the pages of a site."""
    return Pages(
        {
            path.relative_to(site).as_posix(): BeautifulSoup(path.read_text("utf-8"), "html.parser")
            for path in sorted(site.rglob("*.html"))
        }
    )


def words(text: str) -> str:
    """Text with single blanks."""
    return " ".join(text.split())


def table_titled(page: BeautifulSoup, caption: str) -> list[dict[str, str]]:
    """The rows of the table with a caption that starts so, by their headings."""
    (table,) = [
        table
        for table in page.find_all("table")
        if table.caption is not None and words(table.caption.get_text()).startswith(caption)
    ]
    names = [words(heading.get_text()) for heading in table.select("thead th")]
    return [
        dict(zip(names, (words(cell.get_text()) for cell in row.find_all(["th", "td"])), strict=True))
        for row in table.select("tbody tr")
    ]
