"""Parts: what one stage made of one kernel, several small Arrow tables in one file.

One file, so that a kernel's new state is seen all at once or not at all. It is a zip of Arrow streams;
its comment is the version of what it was made from, by which a stage knows that it has nothing to do, and a
checksum over that and over the checksums of all tables: damage to a part never goes unnoticed.
"""

import errno
import fcntl
import hashlib
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from warehouse.files import written_aside
from warehouse.home import Home

# A fixed time, so that equal tables are equal files.
_EPOCH = (1980, 1, 1, 0, 0, 0)
# Most tables are small: zstd and threads would take three times as long, to save a third of the bytes.
_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
_CHECKSUM = "; checksum "
# What reading a zip raises where its bytes are not those that were written.
_DAMAGE = (zipfile.BadZipFile, zlib.error, ValueError, RuntimeError, EOFError, struct.error)


class PartError(Exception):
    """A part whose bytes are not those that were written; says which."""


@dataclass(frozen=True)
class Made:
    """What a stage made of a kernel: rows by table, from what version, and whether it had to."""

    rows: dict[str, int]
    version: str
    changed: bool


def write_part(path: Path, tables: Mapping[str, pa.Table], version: str) -> None:
    """Write tables by name, and the version of what they were made from, as one file in one step."""
    with written_aside(path) as aside, zipfile.ZipFile(aside, "w") as part:
        for name, table in tables.items():
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, table.schema, options=_OPTIONS) as stream:
                stream.write_table(table)
            part.writestr(zipfile.ZipInfo(f"{name}.arrow", _EPOCH), sink.getvalue())
        part.comment = f"{version}{_CHECKSUM}{_checksum(part, version)}".encode()


@contextmanager
def locked_parts(home: Home, *, all_of_them: bool = False) -> Iterator[None]:
    """Hold the parts of kernels: to write some of them or, with `all_of_them`, to read them as of one moment.

    Whoever wants the other waits.
    """
    directory = home.directory / "parts"
    directory.mkdir(parents=True, exist_ok=True)
    lock = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX if all_of_them else fcntl.LOCK_SH)
        yield
    finally:
        os.close(lock)


def read_part(path: Path, name: str, columns: Sequence[str] | None = None) -> pa.Table:
    """One table of a part, or those of its columns that are named.

    Raises FileNotFoundError where the part is not there, KeyError where it has no such table, PartError where
    it is damaged.
    """
    with _opened(path) as (part, _):
        return _table(part.read(f"{name}.arrow"), columns)


def read_tables(path: Path, columns: Mapping[str, Sequence[str]] | None = None) -> dict[str, pa.Table]:
    """All tables of a part by name, or those of which `columns` are named; none where there is no part.

    Raises PartError where it is damaged.
    """
    try:
        with _opened(path) as (part, _):
            held = [name.removesuffix(".arrow") for name in part.namelist()]
            return {
                name: _table(part.read(f"{name}.arrow"), columns[name] if columns else None)
                for name in held
                if columns is None or name in columns
            }
    except FileNotFoundError:
        return {}


def part_version(path: Path) -> str | None:
    """The version of what a part was made from; None where there is no part, or where it is damaged."""
    try:
        with _opened(path) as (part, version):
            return None if part.testzip() else version
    except (FileNotFoundError, PartError):
        return None


@contextmanager
def _opened(path: Path) -> Iterator[tuple[zipfile.ZipFile, str]]:
    try:
        with zipfile.ZipFile(path) as part:
            version, is_summed, checksum = part.comment.decode().partition(_CHECKSUM)
            # The first homes have parts without a checksum.
            if is_summed and checksum != _checksum(part, version):
                raise zipfile.BadZipFile("its checksum is another")
            yield part, version
    except (*_DAMAGE, OSError) as error:
        if isinstance(error, OSError) and error.errno != errno.EINVAL:  # It would seek to before the start.
            raise
        raise PartError(f"{path} is damaged ({error}): `kernelindex doctor` says what to do") from error


def _table(data: bytes, columns: Sequence[str] | None = None) -> pa.Table:
    options = pa.ipc.IpcReadOptions(use_threads=False)
    stream = pa.ipc.open_stream(data, options=options)
    names = stream.schema.names
    if columns is not None and columns != names:
        options.included_fields = [names.index(name) for name in columns if name in names]
        stream = pa.ipc.open_stream(data, options=options)
    return stream.read_all()


def _checksum(part: zipfile.ZipFile, version: str) -> str:
    members = [f"{member.filename} {member.CRC}" for member in part.infolist()]
    return hashlib.sha256("\n".join([version, *members]).encode()).hexdigest()[:16]


def made(path: Path, changed: bool) -> Made:
    """What a part holds, for a stage to report."""
    rows = {name: table.num_rows for name, table in read_tables(path).items()}
    return Made(rows, part_version(path) or "", changed)


def parts_version(home: Home) -> str:
    """A digest of which parts there are and when each was written: another one once any is written anew."""
    digest = hashlib.sha256()
    for directory, below, files in os.walk(home.directory / "parts"):
        # In those with a dot others are writing: they come and go.
        below[:] = sorted(name for name in below if not name.startswith("."))
        for path in (Path(directory, file) for file in sorted(files)):
            stat = path.stat()
            digest.update(f"{path.relative_to(home.directory)} {stat.st_ino} {stat.st_mtime_ns}\n".encode())
    return f"sha256:{digest.hexdigest()}"
