"""Damage to a home: found, named, and mended of the pages that are kept, or by fetching."""

import shutil
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.leaderboard.snapshots import Snapshots
from assets.manifests.kernel_manifests import make_manifests
from pipelines.damage import damage_to
from pipelines.definitions import defs
from pipelines.doctor import examine
from pipelines.names import own
from tests.examples import GEMM, RMSNORM
from tests.staying.commands import Board, cut, flip, kernelindex, places
from warehouse.build import damage_to_warehouse
from warehouse.home import Home
from warehouse.parts import PartError, part_version, read_tables, write_part


def snapshot(home: Home) -> Path:
    return Snapshots(home.snapshots).path(next(iter(Snapshots(home.snapshots))))


def table(home: Home) -> Path:
    return home.table("runs")


def manifests(home: Home) -> Path:
    return home.part(RMSNORM, "manifests")


def pages(home: Home) -> Path:
    return home.part(RMSNORM, "pages")


def listing(home: Home) -> Path:
    return home.kernel_listing


def warehouse(home: Home) -> Path:
    return home.warehouse


def test_a_home_that_is_whole_has_no_damage(ingested: Home) -> None:
    assert list(damage_to(ingested)) == []
    assert examine(ingested).is_well


@pytest.mark.parametrize("spoil", [flip, cut], ids=["flipped", "cut short"])
@pytest.mark.parametrize("of", [snapshot, table, manifests, pages, listing, warehouse])
def test_a_file_that_is_damaged_is_found_and_named(
    copied: Home, of: Callable[[Home], Path], spoil: Callable[[Path], None]
) -> None:
    spoil(of(copied))
    assert [damage.path for damage in damage_to(copied)] == [of(copied)]


@pytest.mark.parametrize("of", [snapshot, table])
def test_a_file_that_is_missing_is_found_and_named(copied: Home, of: Callable[[Home], Path]) -> None:
    path = of(copied)
    path.unlink()
    assert [damage.path for damage in damage_to(copied)] == [path]


def test_a_check_finds_it_too(copied: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELINDEX_HOME", str(copied.directory))
    flip(table(copied))
    with dg.DagsterInstance.ephemeral() as instance:
        result = defs.resolve_job_def(own("examine")).execute_in_process(instance=instance)
    (evaluation,) = result.get_asset_check_evaluations()
    assert not evaluation.passed
    shown = evaluation.metadata["rows"]
    assert isinstance(shown, dg.TableMetadataValue)
    assert [record.data["file"] for record in shown.records] == ["tables/runs.parquet"]


def test_a_page_that_is_damaged_is_named_by_what_it_is_of(copied: Home) -> None:
    flip(snapshot(copied))
    (damage,) = damage_to(copied)
    assert damage.problem.startswith("it is missing or holds other bytes; it is of /")
    assert "`kernelindex ingest` mends it" in damage.next_step


def test_one_command_makes_all_anew_that_is_made_of_pages(copied: Home, boards: tuple[Board, Board]) -> None:
    flip(manifests(copied))
    flip(table(copied))
    cut(copied.table("rankings"))
    copied.table("projects").unlink()
    flip(copied.warehouse)
    assert len(list(damage_to(copied))) == 5

    rebuilt = kernelindex("rebuild", copied)

    assert rebuilt.code == 0, rebuilt.said
    assert rebuilt.said.splitlines()[-1].startswith("made anew: warehouse.duckdb, tables/")
    assert examine(copied).is_well
    assert places(copied) == boards[0].places


def test_what_was_made_anew_is_named_also_where_it_comes_to_the_same(copied: Home) -> None:
    flip(manifests(copied))
    copied.part(GEMM, "manifests").unlink()
    rebuilt = kernelindex("rebuild", copied)
    assert rebuilt.said.endswith(f"made anew: parts/{GEMM}/manifests.zip, parts/{RMSNORM}/manifests.zip\n")
    assert kernelindex("rebuild", copied).said.endswith("made anew: nothing: all was whole\n")


def test_a_page_that_can_not_be_made_anew_is_named_with_what_mends_it(copied: Home) -> None:
    flip(snapshot(copied))
    rebuilt = kernelindex("rebuild", copied)
    assert rebuilt.code == 1
    assert "made anew: nothing\n" in rebuilt.said
    assert f"kernelindex: {snapshot(copied)}: it is missing or holds other bytes" in rebuilt.said
    assert "`kernelindex ingest` mends it, if the source still has that page" in rebuilt.said
    assert "all was whole" not in rebuilt.said


def test_an_ingest_mends_pages_too(copied: Home, boards: tuple[Board, Board]) -> None:
    for digest in Snapshots(copied.snapshots):
        flip(Snapshots(copied.snapshots).path(digest))
    shutil.rmtree(copied.directory / "tables")

    ingested = kernelindex("ingest", copied, "--source", str(boards[0].directory))

    assert ingested.code == 0, ingested.said
    assert examine(copied).is_well
    assert places(copied) == boards[0].places


def test_a_damaged_record_of_pages_is_never_taken_for_an_empty_one(copied: Home) -> None:
    flip(pages(copied))
    with pytest.raises(PartError, match=RMSNORM):
        make_manifests(copied, RMSNORM, 213)
    (damage,) = damage_to(copied)
    assert damage.next_step.startswith("restore it from a backup; or delete it")


@settings(max_examples=200)
@given(st.data())
def test_whichever_bit_of_a_part_flips_it_is_found_or_changes_nothing(
    ingested: Home, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    tables = read_tables(pages(ingested))
    part = tmp_path_factory.getbasetemp() / "part.zip"
    write_part(part, tables, "edition 3")
    body = bytearray(part.read_bytes())
    body[data.draw(st.integers(0, len(body) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    part.write_bytes(body)
    if part_version(part) == "edition 3":
        assert read_tables(part) == tables


def test_wherever_the_warehouse_is_damaged_it_is_found_or_changes_nothing(
    copied: Home, boards: tuple[Board, Board]
) -> None:
    whole = copied.warehouse.read_bytes()
    found = []
    for at in range(0, len(whole), len(whole) // 20):
        copied.warehouse.write_bytes(whole[:at] + b"\x00damaged" + whole[at + 8 :])
        found.append(damage_to_warehouse(copied) is not None)
        assert found[-1] or places(copied) == boards[0].places  # Not all blocks are in use.
    assert any(found)
