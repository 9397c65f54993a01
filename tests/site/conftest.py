"""A site that tests look at, of the home that the commands are asked about; and its pages, parsed."""

from pathlib import Path

import pytest
from bs4 import BeautifulSoup

import warehouse
from tests.commands.conftest import asked_home  # noqa: F401  (Something of everything is in it.)
from tests.site.pages import Pages
from warehouse.home import Home
from warehouse.site.build import write_site


@pytest.fixture(scope="session")
def site(asked_home: Home, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: F811
    """The directory of the site, to read only."""
    directory = tmp_path_factory.mktemp("site") / "site"
    with warehouse.connect(asked_home.directory) as connection:
        write_site(connection, directory)
    return directory


@pytest.fixture(scope="session")
def pages(site: Path) -> Pages:
    return Pages(
        {
            path.relative_to(site).as_posix(): BeautifulSoup(path.read_text("utf-8"), "html.parser")
            for path in sorted(site.rglob("*.html"))
        }
    )
