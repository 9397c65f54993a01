"""Sites that tests look at, of the home that the commands are asked about and of the sample, parsed."""

import shutil
from pathlib import Path

import duckdb
import pytest

import warehouse
from tests.commands.conftest import asked_home  # noqa: F401  (Something of everything is in it.)
from tests.site.pages import Pages, read_pages
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
    return read_pages(site)


@pytest.fixture(scope="session")
def sample_pages(published_home: Home, tmp_path_factory: pytest.TempPathFactory) -> Pages:
    """Pages of the sample, two runs of which are flagged: 20107; and 15511, which a person accepted."""
    directory = tmp_path_factory.mktemp("sample-site")
    with duckdb.connect(shutil.copy(published_home.warehouse, directory)) as connection:
        connection.execute(
            "insert into decisions by name select external_id, run_digest, 'accept' as decision, "
            "now() as decided_at, '' as who, '' as why, '' as link from runs where external_id = '15511'"
        )
        write_site(connection, directory / "site")
    return read_pages(directory / "site")
