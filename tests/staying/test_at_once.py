"""Two commands started at once on one home: one declines, in words, and the other does its work."""

from pathlib import Path

from dagster import DagsterInstance

from pipelines.instance import only_command
from tests.inbox.pages import seed_html
from tests.staying.commands import Board, ended, killed_while_writing, places, started
from warehouse.files import sweep, written_aside
from warehouse.home import Home


def test_of_two_ingests_one_declines(boards: tuple[Board, Board], home: Home) -> None:
    source = str(boards[0].directory)
    processes = [started("ingest", home, "--source", source) for _ in range(2)]

    first, second = sorted(map(ended, processes), key=lambda outcome: outcome.code)

    assert (first.code, second.code) == (0, 1), first.said + second.said
    assert f"another `kernelindex` command is writing into {home.directory}; try again" in second.said
    assert places(home) == boards[0].places


def test_a_page_that_is_read_while_another_command_writes_is_kept_for_later(copied: Home) -> None:
    page = copied.directory.parent / "page.html"
    page.write_text(seed_html("3268"))
    with DagsterInstance.ephemeral() as instance, only_command(copied, instance):
        reading = ended(started("read", copied, str(page)))

    assert reading.code == 1
    assert "the pages are kept, and the next run reads them; but another `kernelindex`" in reading.said
    assert [path.parent.name[:6] for path in copied.parts("saved")] == ["saved-"]


def test_what_is_being_written_is_never_swept_away(tmp_path: Path) -> None:
    with written_aside(tmp_path / "one") as aside:
        assert sweep(tmp_path) == []
        aside.write_text("whole")
    assert (tmp_path / "one").read_text() == "whole"


def test_what_a_process_that_was_killed_left_is_swept_away(tmp_path: Path) -> None:
    killed_while_writing(tmp_path / "one")
    (left,) = tmp_path.iterdir()
    assert sweep(tmp_path) == [left]
    assert list(tmp_path.iterdir()) == []
