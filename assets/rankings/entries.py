"""Entries that people write into the repository, as YAML: how a file of them is read, strictly.

What decisions and attestations say belongs in the modules of these names; here is what their entries have in
common: a run, a date, a person, and that a mistake is an error that names the entry.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from assets.leaderboard.records import in_words
from assets.rankings.run_names import RunName


class EntryError(ValueError):
    """An entry that can't count; names it, and says what is wrong with it."""


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
) -> dict[str, AnyEntry]:
    """The entries of a file, each under its name: the file, its place there, and what it says.

    Raises EntryError where the file is no list, or for the first entry that is wrong. `now` is the time
    after which no entry can be dated: the present, unless given.
    """
    try:
        items = yaml.load(path.read_text("utf-8"), Loader=_TextLoader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise EntryError(f"{path.name} can't be read: {' '.join(str(error).split())}") from error
    if not isinstance(items, list):
        raise EntryError(f"{path.name} holds no list of entries; write [] where there are none")
    entries: dict[str, AnyEntry] = {}
    for place, item in enumerate(items, start=1):
        name = _name(path, place, item)
        try:
            entry = kinds.validate_python(item)
        except ValidationError as error:
            raise EntryError(f"{name}: {in_words(error)}") from error
        if entry.date > (now or datetime.now(UTC)):
            raise EntryError(f"{name} is dated {shown(entry.date)}, which is still to come")
        entries[name] = entry
    return entries


def shown(moment: datetime) -> str:
    """A time as an error names it."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _name(path: Path, place: int, item: Any) -> str:
    """As `decisions.yaml, entry 2 (retract 3268)`."""
    said = item if isinstance(item, Mapping) else {}
    what = [str(said[name])[:80] for name in ("decision", "kind", "run") if name in said]
    return f"{path.name}, entry {place}" + (f" ({' '.join(what)})" if what else "")


class _TextLoader(yaml.BaseLoader):
    """Reads every value as text, so that YAML makes no number or truth of a name; refuses a name twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = [self.construct_object(name, deep=True) for name, _ in node.value]
        for name in names:
            if names.count(name) > 1:
                problem = f"an entry says {name!r} twice"
                raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
        return super().construct_mapping(node, deep)
