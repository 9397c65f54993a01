"""Writing files so that no reader ever sees half of one."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path

# Of directories that hold what is being written; no file of a home is called so.
_ASIDE = ".*.aside"


@contextmanager
def written_aside(path: Path) -> Iterator[Path]:
    """Give a path to write to, in a directory beside `path`; move it into place when the block ends well.

    The directories above are made. If the block raises, or writes nothing, `path` stays as it was and nothing
    is left. Of a process that is killed meanwhile, `sweep` takes away what is left.
    """
    with directory_aside(path) as directory:
        aside = directory / path.name
        yield aside
        if aside.exists():
            move_into_place(aside, path)


@contextmanager
def directory_aside(path: Path) -> Iterator[Path]:
    """Give a directory beside `path`, and take it away with all that is left in it when the block ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    directory, lock = _locked_directory(path)
    try:
        yield directory
    finally:
        try:
            directory.rmdir()  # Most often it is empty, and looking for more takes as long as writing a file.
        except OSError:
            shutil.rmtree(directory, ignore_errors=True)
        os.close(lock)


def move_into_place(aside: Path, path: Path) -> None:
    """Let a file that was written aside take its place, once the disk has it for good."""
    with aside.open("rb") as written:
        os.fsync(written.fileno())
    aside.replace(path)


@contextmanager
def directory_written_aside(directory: Path) -> Iterator[Path]:
    """Give an empty directory to write to; when the block ends well, it takes the place of `directory`.

    What was in `directory` is gone then, whatever it was: who calls this has looked at it.
    """
    with written_aside(directory) as aside:
        aside.mkdir()
        yield aside
        if directory.exists():
            directory.rename(aside.with_name(f"{aside.name}.before"))
        aside.rename(directory)


def holds_a_home(directory: Path) -> bool:
    """Whether a home, or a repository, lies anywhere below: then it must not be replaced."""
    return any(
        name in ("warehouse.duckdb", "snapshots", ".git")
        for _, below, files in os.walk(directory)
        for name in (*below, *files)
    )


def sweep(directory: Path) -> list[Path]:
    """Delete what processes that are no more were writing anywhere below; return what that was.

    Others may be writing meanwhile: what they write is locked, for as long as they live, and stays.
    """
    dead = []
    for aside in left_behind(directory):
        shutil.rmtree(aside, ignore_errors=True)
        dead.append(aside)
    return dead


def left_behind(directory: Path) -> Iterator[Path]:
    """What processes that are no more were writing below, each locked while the caller looks at it."""
    for parent, names, _ in os.walk(directory):
        for name in [name for name in names if fnmatch(name, _ASIDE)]:
            names.remove(name)
            aside = Path(parent, name)
            try:
                lock = os.open(aside, os.O_RDONLY)
            except OSError:
                continue  # It has just been moved into place.
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield aside
            except BlockingIOError:
                continue
            finally:
                os.close(lock)


def _locked_directory(path: Path) -> tuple[Path, int]:
    """A new directory beside `path`, locked, and the lock: it goes with the process, however that ends."""
    while True:
        directory = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".aside", dir=path.parent))
        try:
            lock = os.open(directory, os.O_RDONLY)
        except FileNotFoundError:
            continue  # Swept, before it could be locked.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if directory.exists():
            return directory, lock
        os.close(lock)
