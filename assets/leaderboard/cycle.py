"""The cycle: one crawl of the live leaderboard, from its first request until all that it is for is there.

It is a journal, a line an event, each on disk before the next request is made. So a run that ends early, even
by SIGKILL, is gone on with by the next. What is asked for and why belongs in `live`.
"""

import os
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from assets.leaderboard.records import Row

# What was fetched before that is no part of one crawl with what is fetched now.
STALE_AFTER = timedelta(hours=12)

# The listing of kernels, among the keys of kernels.
LISTING = ""


@dataclass
class Taken:
    """What the cycle has of one kernel: the rows of all answers, and of those that the next run starts from.

    `failures` are the runs that failed to get the rest; `made_of`, once the kernel is done, are its pages, by
    locator and digest.
    """

    answers: list[Row] = field(default_factory=list)
    usable: list[Row] = field(default_factory=list)
    failures: int = 0
    made_of: list[tuple[str, str]] | None = None

    def is_settled(self) -> bool:
        """Whether the cycle need not wait for the kernel any longer: two runs are enough to fail in."""
        return self.made_of is not None or self.failures >= 2


class Cycle:
    """A cycle, as its journal tells it."""

    def __init__(
        self, path: Path, base_url: str, incremental: bool, begun_at: datetime | None = None
    ) -> None:
        self.begun_at = begun_at or datetime.now(UTC)
        self.base_url = base_url
        self.incremental = incremental
        self.wanted: set[str] = set()
        self.taken: defaultdict[str, Taken] = defaultdict(Taken)
        self._path = path
        self._is_left = False
        self._end = 0

    @classmethod
    def begun(cls, path: Path, base_url: str, incremental: bool) -> "Cycle":
        """A new cycle, its journal begun."""
        cycle = cls(path, base_url, incremental)
        names = ("begun_at", "base_url", "incremental")
        cycle._note({name: getattr(cycle, name) for name in names})
        return cycle

    @classmethod
    def found(cls, path: Path) -> "Cycle | None":
        """The cycle that is not over, if there is one. What follows a line that is torn was never written."""
        lines = _whole_lines(path.read_bytes()) if path.exists() else []
        if not lines:
            return None
        (begun, _), *rest = lines
        begun_at = datetime.fromisoformat(begun["begun_at"])
        cycle = cls(path, begun["base_url"], begun["incremental"], begun_at)
        for line, _ in rest:
            cycle._take(line)
        cycle._end = sum(length for _, length in lines)
        return cycle

    @property
    def last_answer_at(self) -> datetime | None:
        """When the last answer came."""
        return max(
            (row["fetched_at"] for taken in self.taken.values() for row in taken.answers), default=None
        )

    def serves(self, base_url: str, incremental: bool) -> bool:
        """Whether another run can go on with this one; an incremental run can do so with a full one too."""
        fresh = datetime.now(UTC) - self.begun_at < STALE_AFTER
        alike = self.base_url == base_url and (incremental or not self.incremental)
        return fresh and alike and not self._is_left

    def want(self, keys: Iterable[str]) -> None:
        """Note for which kernels the cycle is."""
        if not self.wanted.issuperset(keys := set(keys)):
            self._note({"wanted": sorted(keys)})

    def add(self, key: str, row: Row) -> None:
        """Note an answer, whose bytes are stored."""
        self._note({"key": key, "answer": row})

    def finish(self, key: str, current: Iterable[Row]) -> None:
        """Note of what pages a kernel is made of: it is done."""
        self._note({"key": key, "made_of": [(row["locator"], row["page_digest"]) for row in current]})

    def give_up(self, key: str) -> None:
        """Note that nothing can be made of a kernel's answers: the next run asks for all of them again."""
        self._note({"key": key, "anew": True})

    def fail(self, key: str) -> None:
        """Note that a kernel was not to be had in this run."""
        self._note({"key": key, "failed": True})

    def leave(self) -> None:
        """End it if all kernels that it is for are settled.

        One that is for none is gone on with by nobody but the run that began it: whoever lists kernels, and
        does no more, wants to know them as they are now.
        """
        if not self.wanted:
            self._note({"left": True})
        elif all(self.taken[key].is_settled() for key in self.wanted):
            self.end()

    def end(self) -> None:
        """Forget it."""
        self._path.unlink()

    def _note(self, line: dict[str, Any]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("ab") as journal:
            journal.truncate(self._end)
            journal.write(orjson.dumps(line) + b"\n")
            journal.flush()
            os.fsync(journal.fileno())
            self._end = journal.tell()
        self._take(line)

    def _take(self, line: dict[str, Any]) -> None:
        if "wanted" in line:
            self.wanted.update(line["wanted"])
            self._is_left = False
        elif "left" in line:
            self._is_left = True
        elif "answer" in line:
            row = dict(line["answer"])
            if isinstance(row["fetched_at"], str):
                row["fetched_at"] = datetime.fromisoformat(row["fetched_at"])
            taken = self.taken[line["key"]]
            taken.answers.append(row)
            # What failed is asked for again.
            taken.usable += [] if row.get("problem") else [row]
        elif "failed" in line:
            self.taken[line["key"]].failures += 1
        elif "anew" in line:
            self.taken[line["key"]].usable.clear()
        elif "made_of" in line:
            self.taken[line["key"]].made_of = [(locator, digest) for locator, digest in line["made_of"]]


def _whole_lines(journal: bytes) -> list[tuple[dict[str, Any], int]]:
    """The lines up to the first that is torn, each with its length."""
    lines: list[tuple[dict[str, Any], int]] = []
    for line in journal.splitlines(keepends=True):
        try:
            event = orjson.loads(line) if line.endswith(b"\n") else None
        except orjson.JSONDecodeError:
            event = None
        if not event:
            break
        lines.append((event, len(line)))
    return lines
