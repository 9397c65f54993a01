"""The inbox: pages that people saved and handed in, each kept by digest before anything reads it.

What a file is, its content says, never its name. What pages say belongs in `submission_page` and `run_page`;
what the submission pages come to, in `assets.manifests.case_runs`.
"""

import hashlib
import re
import stat
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import pyarrow as pa

from assets.leaderboard.records import Row, Unreadable
from assets.leaderboard.run_page import is_run_page, read_run_page
from assets.leaderboard.saved_text import LARGEST_BYTES, SavedText, read_saved_text
from assets.leaderboard.snapshots import SnapshotError, Snapshots, digest_of
from assets.leaderboard.submission_page import SubmissionPage, is_submission_page, read_submission_page
from warehouse.home import Home
from warehouse.parquet import rows_of, table_of
from warehouse.parts import part_version, read_part, read_tables, write_part
from warehouse.tables import INTEGER, TEXT, TIME

# Stands for how saved pages are read: raise it when that changes, so that all are read anew.
READER_VERSION = "2"

Kind = Literal["submission", "run", "neither"]

# Files that held a page's bytes: the same page can be saved under many names.
FILES = pa.schema(
    [
        ("name", TEXT),
        ("resolved_locator", TEXT),
        ("saved_at", TIME),
        ("size_bytes", INTEGER),
        ("may_be_private", pa.bool_()),
    ]
)
# What the page says above its table. `kind` is what the file is; `problem`, why it can't be used.
DETAILS = pa.schema(
    [
        ("page_digest", TEXT),
        ("kind", TEXT),
        ("is_private", pa.bool_()),
        ("problem", TEXT),
        ("submission_id", INTEGER),
        ("kernel", TEXT),
        ("device", TEXT),
        ("evaluation_stack", TEXT),
        ("user", TEXT),
        ("result", TEXT),
        ("sol_score", TEXT),
        ("submitted_at", TIME),
        ("evaluation_finished", TIME),
        ("row_count", INTEGER),
    ]
)
# Numbers are text: they have the digits of the page.
CASES = pa.schema(
    [
        ("position", INTEGER),
        ("workload", TEXT),
        ("axes", TEXT),
        ("latency_ms", TEXT),
        ("baseline_ms", TEXT),
        ("speedup", TEXT),
        ("sol_score", TEXT),
    ]
)
PROBLEMS = pa.schema([("item", TEXT), ("problem", TEXT)])
UNKNOWN = pa.schema([("field", TEXT)])

_PUBLIC = {"public", "release"}
_NEITHER = (
    "it is neither a submission page of the leaderboard nor a run page of KernelIndex, as far as its words "
    "say; a page that the browser translated must be saved untranslated"
)


class InboxError(Exception):
    """A file that can't be taken in; says which and why."""


@dataclass(frozen=True)
class SavedPage:
    """One saved page: what it says, and the files that held it, the one saved first in front."""

    details: Row
    files: list[Row]
    cases: list[Row]
    problems: list[Row]
    unknown: list[Row]

    @property
    def page_digest(self) -> str:
        """Digest of its bytes."""
        return str(self.details["page_digest"])

    @property
    def locator(self) -> str:
        """A name of it that is safe everywhere, and no other page's."""
        name = re.sub(r"[^\w.() -]+", "_", self.files[0]["name"])[:100]
        return f"inbox:{name}@{self.page_digest.removeprefix('sha256:')[:12]}"

    @property
    def saved_at(self) -> datetime:
        """When it was saved: a copy of a file is no newer page."""
        saved_at: datetime = self.files[0]["saved_at"]
        return saved_at

    def unusable(self, problem: str) -> "SavedPage":
        """The same page, of which no more is known than what it is and why it can't be used."""
        known = ("page_digest", "kind", "is_private")
        details = dict.fromkeys(DETAILS.names) | {name: self.details[name] for name in known}
        return SavedPage(details | {"problem": problem}, self.files, [], [], [])


def new_files(home: Home) -> list[Path]:
    """The files of the inbox folder that were not taken in yet, or were saved over since, by name."""
    known = {
        (row["name"], row["saved_at"], row["size_bytes"])
        for part in home.parts("saved")
        for row in rows_of(read_part(part, "files"))
    }
    return [
        path for path, row in _folder(home) if (row["name"], row["saved_at"], row["size_bytes"]) not in known
    ]


def take_in(home: Home, path: Path, may_be_private: bool = False) -> SavedPage:
    """Keep a file's bytes, then read it. A page that was taken in before only gets another file.

    A submission that is not public is read only where it `may_be_private`. Raises InboxError where the file
    can't be read.
    """
    file = _file(path)
    try:
        page_digest = _kept(home, path)
    except OSError as error:
        raise InboxError(_unreadable(path, error)) from error
    known = _saved_page(home, home.saved_page(page_digest))
    files = {(row["resolved_locator"], row["saved_at"]): row for row in known.files} if known else {}
    before = files.get((file["resolved_locator"], file["saved_at"]), file)
    file["may_be_private"] = may_be_private or before["may_be_private"]
    files[file["resolved_locator"], file["saved_at"]] = file
    page = _read(home, page_digest, sorted(files.values(), key=lambda row: (row["saved_at"], row["name"])))
    _write(home, page)
    return page


def saved_pages(home: Home) -> list[SavedPage]:
    """All pages that were taken in, by digest; those that an older reader read are read anew."""
    pages = (_saved_page(home, part) for part in home.parts("saved"))
    return sorted(filter(None, pages), key=lambda page: page.page_digest)


def kind_of(text: SavedText) -> Kind:
    """What a saved page is, as far as its words say."""
    if is_run_page(text):
        return "run"
    return "submission" if is_submission_page(text) else "neither"


def read_file(path: Path) -> SavedText:
    """The text of a file that is not taken in. Raises InboxError or Unreadable where there is none."""
    _file(path)
    try:
        with path.open("rb") as file:
            return read_saved_text(file.read(LARGEST_BYTES + 1))
    except OSError as error:
        raise InboxError(_unreadable(path, error)) from error


def fault(error: Exception) -> str:
    """What to say of a saved page at which our own code failed; no word of the page, which can be private."""
    at = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"the reader failed ({type(error).__name__} in {Path(at.filename).name}, line {at.lineno}): this is "
        "a fault of the reader, not of the page; report it, with the file"
    )


def _unreadable(path: Path, error: OSError) -> str:
    return f"{path} can't be read: {error.strerror or error}"


def _folder(home: Home) -> Iterator[tuple[Path, Row]]:
    # What browsers keep beside a page is in a folder, and what they have not finished begins with a dot.
    for path in sorted(home.inbox.glob("[!.]*")):
        try:
            if not path.is_symlink():
                yield path, _file(path)
        except InboxError:
            continue


def _file(path: Path) -> Row:
    try:
        status = path.stat()
    except OSError as error:
        raise InboxError(_unreadable(path, error)) from error
    if not stat.S_ISREG(status.st_mode):
        raise InboxError(f"{path} is no file; give the page that the browser saved, not the folder beside it")
    try:
        saved_at = datetime.fromtimestamp(status.st_mtime, UTC)
    except (ValueError, OverflowError, OSError):
        saved_at = datetime.fromtimestamp(0, UTC)  # A file system can hold times that no calendar has.
    return {
        "name": path.name.encode("utf-8", "replace").decode(),
        "resolved_locator": path.resolve().as_uri(),
        "saved_at": saved_at,
        "size_bytes": status.st_size,
        "may_be_private": False,
    }


def _kept(home: Home, path: Path) -> str:
    """The digest of a file's bytes, which are a snapshot now; one that is too large gets only a digest."""
    with path.open("rb") as file:
        body = file.read(LARGEST_BYTES + 1)
        if len(body) <= LARGEST_BYTES:
            return Snapshots(home.snapshots).put(body)
        file.seek(0)
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()


def _read(home: Home, page_digest: str, files: list[Row]) -> SavedPage:
    page = SavedPage({"page_digest": page_digest, "kind": "neither", "is_private": False}, files, [], [], [])
    try:
        _read_into(page, home)
        _tables(page)  # What no table can hold is a fault too.
    except (Unreadable, SnapshotError) as problem:
        page.details["problem"] = str(problem)
    except Exception as error:  # Whatever it is, it costs this file, and no other.
        page = page.unusable(fault(error))
    known = {name: page.details.get(name) for name in DETAILS.names}
    return replace(page, details=known)


def _read_into(page: SavedPage, home: Home) -> None:
    """Read a page's bytes. Raises Unreadable or SnapshotError, and leaves in the page what is known then."""
    if page.files[0]["size_bytes"] > LARGEST_BYTES:
        raise Unreadable(
            f"it has {page.files[0]['size_bytes'] >> 20} MiB, too much to keep; save the page as HTML only"
        )
    text = read_saved_text(Snapshots(home.snapshots).get(page.page_digest))
    page.details["kind"] = kind_of(text)
    match page.details["kind"]:
        case "run":
            read_run_page(text)
        case "submission":
            said = read_submission_page(text)
            _hold_private(said, any(file["may_be_private"] for file in page.files), page.details)
            page.details.update(said.details, row_count=said.row_count)
            page.cases.extend(said.cases)
            page.problems.extend({"item": item, "problem": problem} for item, problem in said.problems)
            page.unknown.extend({"field": field} for field in said.unknown)
        case _:
            raise Unreadable(_NEITHER)


def _hold_private(page: SubmissionPage, may_be_private: bool, details: Row) -> None:
    """Let nothing out of a page whose submission is not public, or does not say so, without leave."""
    mode = page.details["mode"]
    if (mode or "").lower() in _PUBLIC:
        return
    details["is_private"] = True
    if not may_be_private:
        says = f"says that its mode is {mode}" if mode else "does not say that it is public"
        raise Unreadable(
            f"submission {page.details['submission_id']} {says}; "
            "read it with `kernelindex read --private FILE` if it may be used"
        )


def _tables(page: SavedPage) -> dict[str, pa.Table]:
    return {
        "files": table_of(page.files, FILES),
        "details": table_of([page.details], DETAILS),
        "cases": table_of(page.cases, CASES),
        "problems": table_of(page.problems, PROBLEMS),
        "unknown": table_of(page.unknown, UNKNOWN),
    }


def _write(home: Home, page: SavedPage) -> None:
    write_part(home.saved_page(page.page_digest), _tables(page), READER_VERSION)


def _saved_page(home: Home, part: Path) -> SavedPage | None:
    if not part.exists():
        return None
    tables = {name: rows_of(table) for name, table in read_tables(part).items()}
    (details,) = tables.pop("details")
    if part_version(part) == READER_VERSION:
        return SavedPage(details, **tables)
    _write(home, _read(home, details["page_digest"], tables["files"]))
    return _saved_page(home, part)


def version_of(pages: Iterable[SavedPage]) -> str:
    """Digest of all that these pages say, and of when they were saved."""
    said = "\n".join(
        repr((page.details, page.files, page.cases, page.problems, page.unknown)) for page in pages
    )
    return digest_of(f"{READER_VERSION}\n{said}".encode("utf-8", "backslashreplace"))
