"""The picture of what the warehouse holds, whatever stands in it."""

import shutil
import warnings
from collections.abc import Sequence
from pathlib import Path

import dagster as dg
import duckdb
import pytest

from pipelines.resources import Pipeline
from warehouse import assets
from warehouse.assets import warehouse
from warehouse.home import Home
from warehouse.pictures import overview

Run = tuple[str, float | None]
Leader = tuple[str, int, int]


def drawn(path: Path, runs: Sequence[Run], leaders: Sequence[Leader] = ()) -> bytes:
    """The picture of runs (stack, SOL score) and leaders (project, contested and uncontested firsts)."""
    with duckdb.connect(path) as connection:
        connection.execute(
            "create table leaderboard (stack varchar, sol_score double);"
            "create table stacks as select 'a $ b' as stack, true as is_newest;"
            "create table standings "
            "(project varchar, firsts bigint, contested_firsts bigint, uncontested_firsts bigint)"
        )
        for run in runs:
            connection.execute("insert into leaderboard values ($1, $2)", run)
        for leader in leaders:
            connection.execute("insert into standings values ($1, $2 + $3, $2, $3)", leader)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return overview(path)


@pytest.mark.parametrize(
    "name",
    [
        "$\\frac{1}{0}$",
        "a $ b _c_ ^d",
        "陈明 😀 ابن سينا",
        "\x1b[31mred\x1b[0m\x07",
        "two\nlines",
        "<script>|`**x**`",
        "",
        "long " * 100,
    ],
)
def test_a_name_holds_anything(tmp_path: Path, name: str) -> None:
    png = drawn(tmp_path / "one.duckdb", [("v1.0", 0.5), (name, 0.7)], [(name, 2, 1), ("other", 0, 1)])
    assert png.startswith(b"\x89PNG")
    assert len(png) < 60_000


def test_a_leaderboard_without_scores_or_leaders_is_drawn_too(tmp_path: Path) -> None:
    assert drawn(tmp_path / "none.duckdb", []).startswith(b"\x89PNG")
    assert drawn(tmp_path / "no score.duckdb", [("v1.0", None)]).startswith(b"\x89PNG")


def test_a_warehouse_that_did_not_change_shows_the_picture_that_it_had(
    sample_home: Home, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(sample_home.directory / "tables", home.directory / "tables")
    monkeypatch.setenv("KERNELINDEX_HOME", str(home.directory))
    with dg.DagsterInstance.ephemeral() as instance:
        shown = []
        for _ in range(2):
            result = dg.materialize([warehouse], instance=instance, resources={"pipeline": Pipeline()})
            (event,) = result.get_asset_materialization_events()
            shown.append(event.materialization.metadata)
    assert [metadata["changed"].value for metadata in shown] == [True, False]
    assert shown[0]["overview"] == shown[1]["overview"]
    assert str(shown[0]["overview"].value).startswith("![SOL scores by stack")


def test_a_picture_that_can_not_be_drawn_keeps_no_warehouse_from_being_published(
    sample_home: Home, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: Path) -> bytes:
        raise OverflowError("beyond all axes")

    shutil.copytree(sample_home.directory / "tables", home.directory / "tables")
    monkeypatch.setenv("KERNELINDEX_HOME", str(home.directory))
    monkeypatch.setattr(assets, "overview", fails)
    with dg.DagsterInstance.ephemeral() as instance:
        result = dg.materialize([assets.warehouse], instance=instance, resources={"pipeline": Pipeline()})
    (event,) = result.get_asset_materialization_events()
    assert home.warehouse.exists()
    assert event.materialization.metadata["overview"].value == (
        "The overview can't be drawn; the log says why."
    )
