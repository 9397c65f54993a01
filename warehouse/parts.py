"""Parts: what one stage made of one kernel, several small Arrow tables in one file.

One file, so that a kernel's new state is seen all at once or not at all. It is a zip of Arrow streams;
its comment is the version of what it was made from, by which a stage knows that it has nothing to do.
"""

import hashlib
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from warehouse.files import written_aside
from warehouse.home import Home

# A fixed time, so that equal tables are equal files.
_EPOCH = (1980, 1, 1, 0, 0, 0)
_OPTIONS = pa.ipc.IpcWriteOptions(compression="zstd")


@dataclass(frozen=True)
class Made:
    """What a stage made of a kernel: rows by table, from what version, and whether it had to."""

    rows: dict[str, int]
    version: str
    changed: bool


def write_part(path: Path, tables: Mapping[str, pa.Table], version: str) -> None:
    """Write tables by name, and the version of what they were made from, as one file in one step."""
    with written_aside(path) as aside, zipfile.ZipFile(aside, "w") as part:
        part.comment = version.encode()
        for name, table in tables.items():
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, table.schema, options=_OPTIONS) as stream:
                stream.write_table(table)
            part.writestr(zipfile.ZipInfo(f"{name}.arrow", _EPOCH), sink.getvalue())


def read_part(path: Path, name: str) -> pa.Table:
    """One table of a part. Raises FileNotFoundError where the part is not there."""
    with zipfile.ZipFile(path) as part:
        return pa.ipc.open_stream(part.read(f"{name}.arrow")).read_all()


def read_tables(path: Path) -> dict[str, pa.Table]:
    """All tables of a part by name; none where the part is not there."""
    try:
        with zipfile.ZipFile(path) as part:
            return {
                name.removesuffix(".arrow"): pa.ipc.open_stream(part.read(name)).read_all()
                for name in part.namelist()
            }
    except FileNotFoundError:
        return {}


def part_version(path: Path) -> str | None:
    """The version of what a part was made from; None where there is no part that can be read."""
    try:
        with zipfile.ZipFile(path) as part:
            return part.comment.decode()
    except (FileNotFoundError, zipfile.BadZipFile):
        return None


def made(path: Path, changed: bool) -> Made:
    """What a part holds, for a stage to report."""
    rows = {name: table.num_rows for name, table in read_tables(path).items()}
    return Made(rows, part_version(path) or "", changed)


def parts_version(home: Home) -> str:
    """A digest of which parts there are and when each was written: another one once any is written anew."""
    digest = hashlib.sha256()
    for path in sorted(home.directory.glob("parts/**/*.zip")):
        stat = path.stat()
        digest.update(f"{path.relative_to(home.directory)} {stat.st_ino} {stat.st_mtime_ns}\n".encode())
    return f"sha256:{digest.hexdigest()}"
