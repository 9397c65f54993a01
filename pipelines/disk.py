"""A disk that is full, in words: whatever writes there then fails in its own way."""

import shutil
from pathlib import Path

FULL = "the disk is full: make room, then run it again; what was published stays as it was"

# As the operating system, Arrow and DuckDB say it; and SQLite, which keeps Dagster's runs.
_SAID = ("No space left on device", "Disk quota exceeded", "disk is full")
# What SQLite says where it can't map a file on a full disk. It says so of a broken one too.
_SAID_OF_BROKEN = "disk I/O error"
# What failed has made room again by the time that it is asked: what it wrote aside is gone.
_FULL_BYTES = 100_000_000


def says_full(text: str, directory: Path) -> bool:
    """Whether a message says that the disk of this directory is full."""
    return any(said in text for said in _SAID) or (_SAID_OF_BROKEN in text and _is_full(directory))


def comes_of_full(problem: BaseException | None, directory: Path) -> bool:
    """Whether an exception, or one that it came of, says that the disk of this directory is full."""
    while problem is not None:
        if says_full(str(problem), directory):
            return True
        problem = problem.__cause__ or problem.__context__
    return False


def _is_full(directory: Path) -> bool:
    return directory.exists() and shutil.disk_usage(directory).free < _FULL_BYTES
