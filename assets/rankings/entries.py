"""Entries that people write into the repository, as YAML: how a file of them is read, strictly.

What decisions and attestations say belongs in the modules of these names; here is what their entries have in
common: a run, a date, a person, and that one that can't count is set aside with its reason.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

import duckdb
import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from assets.leaderboard.records import in_words
from assets.rankings.run_names import RunName
from warehouse.home import Home


class EntryError(ValueError):
    """A file of entries, or an entry, that can't count; says why."""


class Place(NamedTuple):
    """Where an entry stands: its file, its place there from 1 (0: all of the file), and what it says."""

    file: str
    entry: int
    said: str

    def __str__(self) -> str:
        """As `decisions.yaml, entry 2 (retract 3268)`."""
        entry = f", entry {self.entry}" if self.entry else ""
        return f"{self.file}{entry}" + (f" ({self.said})" if self.said else "")


# Entries that can't count: why, in words.
SetAside = dict[Place, str]


def _moment(value: object) -> datetime:
    try:
        moment = datetime.fromisoformat(str(value))
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise ValueError("should be a day, as 2026-09-01, or a time, as 2026-09-01T15:00:00Z") from None


# A day counts from its beginning. Without a zone it is UTC, as all times here.
Moment = Annotated[datetime, BeforeValidator(_moment)]
Text = Annotated[str, Field(min_length=1)]
# The page that supports an entry: by its address, or by the digest under which it is kept.
Link = Annotated[str, Field(pattern=r"^(https?://\S+|sha256:[0-9a-f]{64})$")]


class Entry(BaseModel):
    """What every entry says."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)

    run: RunName
    date: Moment
    who: Text


AnyEntry = TypeVar("AnyEntry", bound=Entry)


def read_entries(
    path: Path, kinds: TypeAdapter[AnyEntry], now: datetime | None = None
) -> tuple[dict[Place, AnyEntry], SetAside]:
    """The entries of a file, and those that are set aside because they are wrong in themselves.

    `now` is the time after which no entry can be dated: the present, unless given. Raises EntryError where
    the file is no list of entries.
    """
    entries: dict[Place, AnyEntry] = {}
    set_aside: SetAside = {}
    for number, item in enumerate(_items(path), start=1):
        place = Place(path.name, number, _said(item))
        try:
            if isinstance(item, yaml.YAMLError):
                raise EntryError(_in_one_line(item))
            entry = kinds.validate_python(item)
            if entry.date > (now or datetime.now(UTC)):
                raise EntryError(f"it is dated {shown(entry.date)}, which is still to come")
            entries[place] = entry
        except (ValidationError, EntryError) as problem:
            set_aside[place] = in_words(problem)
    return entries, set_aside


def entries_set_aside(home: Home) -> list[str]:
    """The entries that can't count, by the published warehouse: each with its reason, in a sentence."""
    with duckdb.connect(home.warehouse, read_only=True) as warehouse:
        try:
            rows = warehouse.execute(
                "select file, entry, said, problem from entries_set_aside order by all"
            ).fetchall()
        except duckdb.CatalogException:
            return []  # An older version made it, and would have published nothing.
    return [f"{Place(*place)} was set aside: {problem}" for *place, problem in rows]


def shown(moment: datetime) -> str:
    """A time as an error names it."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _items(path: Path) -> Iterator[Any]:
    """What the file lists; for an item that YAML refuses, its error."""
    try:
        loader = _TextLoader(path.read_text("utf-8"))
        document = loader.get_single_node()
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise EntryError(f"{path.name} can't be read: {_in_one_line(error)}") from error
    except RecursionError as error:
        raise EntryError(f"{path.name} can't be read: it is nested too deep") from error
    if not isinstance(document, yaml.SequenceNode):
        raise EntryError(f"{path.name} holds no list of entries; write [] where there are none")
    for node in document.value:
        try:
            yield loader.construct_document(node)
        except yaml.YAMLError as error:
            yield error


def _in_one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _said(item: Any) -> str:
    """What an entry says, in short, as `retract 3268`."""
    fields = item if isinstance(item, Mapping) else {}
    said = [fields.get(name) for name in ("decision", "kind", "run")]
    return " ".join(text[:80] for text in said if isinstance(text, str))


class _TextLoader(yaml.BaseLoader):
    """Reads every value as text, so that YAML makes no number or truth of a name; refuses a name twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = [self.construct_object(name, deep=True) for name, _ in node.value]
        for name in names:
            if names.count(name) > 1:
                problem = f"an entry says {name!r} twice"
                raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
        return super().construct_mapping(node, deep)
