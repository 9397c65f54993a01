"""What the tests of a guest share: what one run alone makes of the sample."""

import shutil
from pathlib import Path

import pytest

from pipelines.instance import open_instance
from pipelines.run import run_ingest
from pipelines.settings import Settings
from warehouse.home import Home


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all that is here: it wants packages from the registry, and takes minutes."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.guest)


@pytest.fixture(scope="session")
def one_run(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home that one run ingested the sample into, in an instance of its own; to read only."""
    home = Home(tmp_path_factory.mktemp("one run"))
    with open_instance(home) as instance:
        run_ingest(Settings(home=home.directory), instance)
    return home


def knowing_home(one_run: Home, directory: Path) -> Home:
    """A home that has the pages of the sample and what they say, and nothing that is made of all of them."""
    home = Home(directory)
    for part in ("parts", "snapshots"):
        shutil.copytree(one_run.directory / part, directory / part)
    return home
