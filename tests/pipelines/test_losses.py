"""Nothing is published that has lost most of its rows, unless a person says so."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import duckdb
import pytest

from assets.leaderboard.assets import KERNELS
from pipelines.definitions import defs
from pipelines.jobs import range_tags, why_it_failed
from pipelines.names import own
from pipelines.run import Failed, run_ingest, run_rebuild
from pipelines.settings import Settings
from warehouse.home import Home


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A home, and the Dagster instance that published it."""
    home, dagster = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("dagster")
    with dg.DagsterInstance.local_temp(str(dagster)) as instance:
        run_ingest(Settings(home=home), instance)
    return home, dagster


@pytest.fixture
def instance(published: tuple[Path, Path], tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """That instance, a copy."""
    shutil.copytree(published[1], tmp_path / "dagster")
    with dg.DagsterInstance.local_temp(str(tmp_path / "dagster")) as instance:
        yield instance


def publish(instance: dg.DagsterInstance, home: Home, **settings: object) -> str:
    """Run the job `publish` over all kernels; why it failed, if it did."""
    result = defs.resolve_job_def(own("publish")).execute_in_process(
        instance=instance,
        tags=range_tags(instance.get_dynamic_partitions(KERNELS)),
        run_config={"resources": {"pipeline": {"config": {"home": str(home.directory), **settings}}}},
        raise_on_error=False,
    )
    failed = [event for event in result.all_events if event.is_step_failure]
    return why_it_failed(failed[0]) if failed else ""


def runs(home: Home) -> int:
    with duckdb.connect(home.warehouse, read_only=True) as warehouse:
        ((count,),) = warehouse.execute("select count(*) from runs").fetchall()
    return int(count)


def lose_pages(home: Home, but: int) -> None:
    """Take away the pages of all kernels but some."""
    for path in home.parts("pages")[but:]:
        shutil.rmtree(path.parent)


def test_a_home_that_holds_nothing_of_the_registered_kernels_is_not_published(
    instance: dg.DagsterInstance, home: Home
) -> None:
    problem = publish(instance, home)
    assert f"of 24 kernels that are registered in this Dagster, {home.directory} holds no page" in problem
    assert not home.warehouse.exists()


def test_a_home_that_has_lost_most_of_its_rows_keeps_the_warehouse_that_it_has(
    instance: dg.DagsterInstance, published: tuple[Path, Path], home: Home
) -> None:
    shutil.copytree(published[0], home.directory)
    lose_pages(home, but=5)

    with pytest.raises(Failed, match="none_lost"):
        run_rebuild(Settings(home=home.directory), instance)

    assert runs(home) == 75


def test_what_is_lost_is_published_where_a_person_says_so(
    instance: dg.DagsterInstance, published: tuple[Path, Path], home: Home
) -> None:
    shutil.copytree(published[0], home.directory)
    lose_pages(home, but=5)
    run_rebuild(Settings(home=home.directory, accept_loss=True), instance)
    assert 0 < runs(home) < 30


def test_what_this_dagster_saw_published_counts_where_the_file_is_gone(
    published: tuple[Path, Path], instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    home = Home(published[0])
    kept = tmp_path / "kept"
    shutil.copytree(home.directory, kept)
    try:
        home.warehouse.unlink()
        lose_pages(home, but=5)
        assert "source_kernels has 5 rows of 24" in publish(instance, home)
        assert not home.warehouse.exists()
    finally:
        shutil.rmtree(home.directory)
        shutil.copytree(kept, home.directory)
