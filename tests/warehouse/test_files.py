"""Files that are written aside: no reader ever sees half of one."""

from pathlib import Path

import pytest

from warehouse.files import written_aside


def test_the_file_is_there_all_at_once_when_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "new" / "directory" / "table.parquet"
    with written_aside(path) as aside:
        aside.write_bytes(b"half")
        assert not path.exists()
        aside.write_bytes(b"whole")
    assert path.read_bytes() == b"whole"


def test_the_old_file_is_there_until_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    path.write_bytes(b"old")
    with path.open("rb") as reader:
        with written_aside(path) as aside:
            aside.write_bytes(b"new")
            assert path.read_bytes() == b"old"
        assert (reader.read(), path.read_bytes()) == (b"old", b"new")


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_the_old_file_stays_where_the_block_raises(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "table.parquet"
    path.write_bytes(b"old")

    def die_half_way() -> None:
        with written_aside(path) as aside:
            aside.write_bytes(b"half")
            raise error

    with pytest.raises(error):
        die_half_way()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_old_file_stays_where_the_block_takes_its_own_away(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    path.write_bytes(b"old")
    with written_aside(path) as aside:
        aside.write_bytes(b"new")
        aside.unlink()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    for body in (b"one", b"two"):
        with written_aside(path) as aside:
            aside.write_bytes(body)
    assert list(tmp_path.iterdir()) == [path]


def test_two_that_write_at_once_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    with written_aside(path) as one:
        with written_aside(path) as other:
            one.write_bytes(b"one")
            other.write_bytes(b"other")
        assert path.read_bytes() == b"other"
    assert path.read_bytes() == b"one"
