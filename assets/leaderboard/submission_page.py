"""What a saved submission page says: its details, and a row for each workload.

The leaderboard shows a submission's result as a list of details and a table; both are found by their words,
in whatever elements they stand. Numbers stay text, so that none has more digits than the page. What the rows
mean belongs in `assets.manifests.case_runs`; how a file becomes lines, in `saved_text`.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal

import orjson

from assets.leaderboard.records import Row, Unreadable, in_years
from assets.leaderboard.saved_text import CELL, EDGE, END_OF_TABLE, SavedText, plain, visible

MOST_ROWS = 10_000
MOST_COLUMNS = 50
MOST_TABLES = 100
# No title, detail or row is longer; a longer line is not looked at.
_LONGEST_LINE = 5_000

# Digits are [0-9] throughout: \d takes those of other scripts too, and Python makes numbers of them.
_DIGITS = r"[0-9]{1,15}(?:\.[0-9]{1,12})?(?:[eE][+-]?[0-9]{1,2})?"
# A detail's label, in lower case, and what its value looks like. What looks otherwise is no such detail:
# "Kernel" can also stand in a menu.
_DETAILS = {
    "status": r".+",
    "evaluation stack": r"v[0-9]+(?:\.[0-9]+)*",
    "kernel": r"\S+",
    "device": r"\S+(?: \S+)?",
    "user": r".+",
    "mode": r"\w+",
    "submitted at": r".*[0-9].*",
    "evaluation started": r".*[0-9].*",
    "evaluation finished": r".*[0-9].*",
    "submitted file": r".+",
    "result": r"\w+(?: \w+){0,3}",
    "sol score": _DIGITS,
}
_NEEDED = ("kernel", "device", "evaluation stack", "result")
# Nothing follows from these: where a page says two things of one, the first will do.
_MERELY_SHOWN = ("status", "submitted file", "evaluation started")
_COLUMNS = ("workload", "latency", "baseline", "speedup", "sol score")
# What a column's unit is in milliseconds, as a power of ten.
_UNITS = {"ns": -6, "us": -3, "µs": -3, "μs": -3, "ms": 0, "s": 3}

_TITLE = re.compile(r"(?:sol-execbench )?submission ?# ?([0-9]{1,15})(?![0-9])", re.IGNORECASE)
_LABEL = re.compile(
    "({})(?![\\w-])".format(
        "|".join(label.replace(" ", f"[ {EDGE}]+") for label in sorted(_DETAILS, key=len, reverse=True))
    ),
    re.IGNORECASE,
)
_AFTER_LABEL = re.compile(rf"[\s{EDGE}]*[:：]?[\s{EDGE}]*")
_LABEL_AND_COLON = re.compile(_LABEL.pattern + r" ?[:：]", re.IGNORECASE)
_COLUMN = re.compile(
    r"(workload|latency|baseline|speedup|sol score)s?(?: ?[(\[]([^)\]]{0,20})[)\]])?", re.IGNORECASE
)
_NUMBER = re.compile(rf"({_DIGITS}) ?(ns|us|µs|μs|ms|s)?")
_TIMES = re.compile(rf"({_DIGITS}) ?[x×]?", re.IGNORECASE)
_AXIS = r"[A-Za-z_]\w{0,99} ?[=:] ?-?[0-9]{1,15}"
_AXES = re.compile(rf"{_AXIS}(?:(?: ?[,;] ?| ){_AXIS})*")
_TIME = re.compile(
    r"([0-9]{4}-[0-9][0-9]-[0-9][0-9])[T ]([0-9][0-9]:[0-9][0-9](?::[0-9][0-9])?)(?:\.([0-9]{1,9}))? ?"
    r"(?:(Z|UTC|GMT)|(?:UTC|GMT)? ?([+-])([0-9]{1,2}):?([0-9][0-9])?)"
)
_ABSENT = {"", "-", "–", "—", "n/a", "na", "none"}


@dataclass
class SubmissionPage:
    """What one submission page says.

    `details` is a row of what stands above the table; `cases` are the rows of the table that could be read,
    in order. `problems` are those that could not (what, why), `unknown` fields that nobody knows.
    """

    details: Row
    cases: list[Row] = field(default_factory=list)
    row_count: int = 0
    problems: list[tuple[str, str]] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def is_submission_page(text: SavedText) -> bool:
    """Whether a saved page is that of a submission, as far as its title or its labels say."""
    text = _as_seen(text)
    if _title_id(text) is not None:
        return True
    starts = (line.partition(CELL)[0].partition(":")[0] for line in text.lines)
    return len(set(_NEEDED) & set(map(_label_of, starts))) >= 3


def read_submission_page(text: SavedText) -> SubmissionPage:
    """Read a submission page. Raises Unreadable, in words, for one that can't be used at all."""
    exact, text = text, _as_seen(text)
    submission_id = _title_id(text)
    if submission_id is None:
        raise Unreadable('it looks like a submission page, but shows no title like "Submission #123"')
    lines = [line for line in text.lines if len(line) <= _LONGEST_LINE]
    tables = list(_tables(lines))
    in_tables = {at for table in tables if table.rows for at in table.lines}
    title = next((line for line in lines if _title(line)), "")
    # A heading is no value, though it may stand where one is due: below a menu that has labels in it.
    headings = {title, END_OF_TABLE, *text.headings}
    details = _Details(
        "" if line in headings else line for at, line in enumerate(lines) if at not in in_tables
    )
    said = {label: details.value(label) for label in _DETAILS}
    if missing := [label.title() for label in _NEEDED if not said[label]]:
        raise Unreadable(
            f"it shows no {' and no '.join(missing)}; save the page as the leaderboard shows it, "
            "whole and in English"
        )
    said["user"] = _spelt_exactly(said["user"], exact)
    page = SubmissionPage({"submission_id": submission_id, **{_field(name): said[name] for name in said}})
    for label in ("submitted at", "evaluation started", "evaluation finished"):
        try:
            page.details[_field(label)] = _time(said[label])
        except Unreadable as problem:
            page.details[_field(label)] = None
            page.problems.append((label, str(problem)))
    table = _one_of(tables)
    page.unknown += [f"details.{label}" for label in details.unknown]
    page.unknown += [f"results.{column}" for column in table.unknown]
    _read_cases(page, table, ends_page=table.lines.stop == len(lines))
    return page


def _as_seen(text: SavedText) -> SavedText:
    """A text as people see it: what has no width can stand anywhere, as between the digits of a number."""
    lines = tuple(line for line in map(visible, text.lines) if plain(line))
    return SavedText(lines, tuple(map(visible, text.headings)), text.verbatim)


def _spelt_exactly(user: str | None, text: SavedText) -> str | None:
    """A user's name as the page has it: a joined emoji, say, is another name without what joins it."""
    if user is None:
        return None
    lines = (line for line in text.lines if len(line) <= _LONGEST_LINE)
    names = _Details(lines).values("user")
    return next((name for name in names if visible(name) == user), user)


def _field(label: str) -> str:
    return label.replace(" ", "_")


def _read_cases(page: SubmissionPage, table: "_ResultTable", ends_page: bool) -> None:
    page.row_count = len(table.rows)
    for number, cells in enumerate(table.rows, start=1):
        try:
            case = {"position": number, **_case(table, cells)}
            if ends_page and number == page.row_count and _is_cut_off(case, page.cases):
                raise Unreadable("the page ends within it: a number has fewer digits than all above it")
            page.cases.append(case)
        except Unreadable as problem:
            page.problems.append((f"row {number}", str(problem)))
    if not page.cases:
        why = (
            f"Of the first row: {page.problems[-page.row_count][1]}" if table.rows else "It has no row at all"
        )
        raise Unreadable(
            "its table of benchmark results has no row that can be read: had it finished loading? "
            f"Save the page again once all workloads show. {why}"
        )


def _is_cut_off(case: Row, others: list[Row]) -> bool:
    """Whether a number of a row has fewer decimals than each above it: numbers are shown to fixed digits."""
    return any(
        case[name] is not None and _exponent(case[name]) > max(map(_exponent, shown))
        for name in ("latency_ms", "baseline_ms", "speedup", "sol_score")
        if (shown := [other[name] for other in others if other[name] is not None])
    )


def _exponent(number: str) -> int:
    exponent = Decimal(number).as_tuple().exponent
    assert isinstance(exponent, int)  # Only infinities and NaNs have another.
    return exponent


def _title_id(text: SavedText) -> int | None:
    """The submission's id: from the headings, the page's title first, else from the first such line."""
    titles = (title for line in (*text.headings, *text.lines) for title in [_title(line)] if title)
    return next((int(title[1]) for title in titles), None)


def _title(line: str) -> re.Match[str] | None:
    # What stands beside the number in an element of its own is no digit of it.
    return _TITLE.match(" ".join(line[:_LONGEST_LINE].replace(EDGE, " ").split()))


class _Details:
    """The details of a page: all that is said of each label, and how surely.

    Surest are cells (3), then what stands apart from its label by elements, a colon or a line (2), then by
    no more than a blank (1), which can be any prose.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._said: dict[str, dict[int, list[str]]] = {}
        self.unknown: list[str] = []
        lines = list(_parted(lines))
        self._read_cells([[plain(cell) for cell in line.split(CELL)] for line in lines])
        self._read_lines(lines)

    def value(self, label: str) -> str | None:
        """What the page says of a label. Raises Unreadable where it says two things."""
        for _, values in sorted(self._said.get(label, {}).items(), reverse=True):
            fitting = dict.fromkeys(value for value in values if re.fullmatch(_DETAILS[label], value))
            if len(fitting) > 1 and label not in _MERELY_SHOWN:
                first, second, *_ = fitting
                raise Unreadable(
                    f"it says two things of its {label.title()}: {first[:60]!r}, {second[:60]!r}"
                )
            if fitting:
                return next(iter(fitting))
        return None

    def values(self, label: str) -> Iterator[str]:
        """All that the page says of a label, the surest first."""
        for _, values in sorted(self._said.get(label, {}).items(), reverse=True):
            yield from values

    def _read_cells(self, rows: Sequence[list[str]]) -> None:
        """Read details in cells: label and value in turn along a row, or labels above their values."""
        unknown: list[str] = []
        for cells, below in zip(rows, [*rows, []][1:], strict=True):
            labels = [_label_of(cell) for cell in cells]
            if len(cells) > 2 and all(labels):
                for label, value in zip(labels, below, strict=False):
                    self._say(label, 3, value)
            elif len(cells) > 1 and all(labels[::2]) and len(cells) % 2 == 0:
                # What lies between two details that are known is a detail too.
                self.unknown += unknown if self._said else []
                unknown = []
                for label, value in zip(labels[::2], cells[1::2], strict=True):
                    self._say(label, 3, value)
            elif len(cells) == 2 and cells[0] and len(unknown) < MOST_COLUMNS:
                unknown.append(cells[0][:100])

    def _read_lines(self, lines: Iterable[str]) -> None:
        """Read details outside cells: label and value in one line, or in two."""
        waiting: str | None = None
        for line in lines:
            label = None if CELL in line else _label_of(line)
            if waiting and not label and CELL not in line:
                self._say(waiting, 2, plain(line))
            elif found := None if label or CELL in line else _LABEL.match(line):
                between = _AFTER_LABEL.match(line, found.end())
                assert between is not None  # It matches nothing too.
                sure = EDGE in between[0] or between[0].strip() != ""
                self._say(_name(found[1]), 2 if sure else 1, plain(line[between.end() :]))
            waiting = label

    def _say(self, label: str | None, surety: int, value: str) -> None:
        if label and value:
            self._said.setdefault(label, {}).setdefault(surety, []).append(value)


def _parted(lines: Iterable[str]) -> Iterator[str]:
    """Lines, those in parts that hold several details, each after its label: `Result: AC Device: B200`."""
    for line in lines:
        if CELL in line or EDGE not in line:
            yield line
            continue
        part: list[str] = []
        for piece in line.split(EDGE):
            if part and (_label_of(piece) or _LABEL_AND_COLON.match(piece.strip())):
                yield EDGE.join(part)
                part = []
            part.append(piece)
        yield EDGE.join(part)


def _label_of(text: str) -> str | None:
    """The label that a text is, a colon or not; None where it is anything else."""
    name = _name(text).removesuffix(":").removesuffix("：").rstrip()
    return name if name in _DETAILS else None


def _name(text: str) -> str:
    return " ".join(text.replace(EDGE, " ").split()).lower() if len(text) < 200 else ""


@dataclass
class _ResultTable:
    """The table of results: where it stands, its columns and the cells of its rows."""

    columns: dict[str, int]
    units: dict[str, str]
    unknown: list[str]
    rows: list[list[str]]
    lines: range


def _one_of(tables: Sequence[_ResultTable]) -> _ResultTable:
    """The page's table of results. Raises Unreadable where there is none, or two that differ."""
    if not tables:
        raise Unreadable(
            "it shows no table of benchmark results, with columns Workload and Latency: had it finished "
            "loading? Save the page again, whole and in English"
        )
    table, *others = [table for table in tables if table.rows] or tables
    if table.rows and any(table.rows != other.rows for other in others):
        raise Unreadable("it shows two tables of benchmark results that differ")
    if missing := [name.title() for name in _COLUMNS if name not in table.columns]:
        raise Unreadable(f"its table of benchmark results has no column {' and no '.join(missing)}")
    return table


def _tables(lines: Sequence[str]) -> Iterator[_ResultTable]:
    """All tables of results.

    Raises Unreadable for one with two columns of one name, for too many rows, and for too many tables.
    """
    at = count = 0
    while at < len(lines):
        header = _header(lines, at)
        if header is None:
            at += 1
            continue
        names, is_stacked, after = header
        if (count := count + 1) > MOST_TABLES:
            raise Unreadable(f"it shows more than {MOST_TABLES} tables of benchmark results")
        columns: dict[str, int] = {}
        units: dict[str, str] = {}
        unknown: list[str] = []
        for place, name in enumerate(names):
            column = _column(name)
            if column is None:
                unknown.append(_bare(name)[:100] or f"column {place + 1}")
                continue
            key = column[1].lower()
            if key in columns:
                raise Unreadable(f"its table of benchmark results has two columns {key.title()}")
            columns[key] = place
            units[key] = (column[2] or "").strip().lower()
        rows, end = (_stacked_rows if is_stacked else _rows)(lines, after, names)
        yield _ResultTable(columns, units, unknown, rows, range(at, end))
        at = end


def _header(lines: Sequence[str], at: int) -> tuple[list[str], bool, int] | None:
    """The columns' names if a header begins at a line, whether they stand a line each, and what follows."""
    line = lines[at]
    if "workload" in line.lower() and _is_header(names := _header_cells(line)):
        return names, False, at + 1
    if _column(plain(line)):
        # Copied from the screen, each cell may be a line of its own: a header ends where values begin.
        names = _stacked_names(lines[at : at + MOST_COLUMNS])
        if _is_header(names):
            return names, True, at + len(names)
    return None


def _stacked_names(lines: Sequence[str]) -> list[str]:
    """The names up to the first value, or to one that stands there already."""
    names: dict[str, None] = {}
    for name in map(plain, lines):
        if name in names or _is_value(name):
            break
        names[name] = None
    return list(names)


def _header_cells(line: str) -> list[str]:
    cells = _split(line)
    if len(cells) > 1:
        return cells
    # Copied with single spaces between its cells: the columns that are known, and what stands between.
    text = plain(line)
    names: list[str] = []
    end = 0
    for column in _COLUMN.finditer(text):
        names += [text[end : column.start()].strip(), column[0]]
        end = column.end()
    return [name for name in [*names, text[end:].strip()] if name]


def _is_header(names: Sequence[str]) -> bool:
    if len(names) > MOST_COLUMNS:
        return False
    known = {column[1].lower() for name in names for column in [_column(name)] if column}
    return len(known) > 2 and {"workload", "latency"} <= known


def _column(name: str) -> re.Match[str] | None:
    return _COLUMN.fullmatch(_bare(name[:100]))


def _bare(name: str) -> str:
    """A column's name without arrows or stars at its end, which only say that it can be sorted."""
    return re.sub(r"[^\w)\]]+$", "", name)


def _split(line: str) -> list[str]:
    """The cells of a line: by marks of cells, by bars, or by two spaces and more."""
    if CELL in line:
        return [plain(cell) for cell in line.split(CELL)]
    if "|" in line:
        return [plain(cell) for cell in line.strip().strip("|").split("|")]
    return [plain(cell) for cell in re.split(r" {2,}", line)]


def _is_value(text: str) -> bool:
    return bool(_AXES.fullmatch(text) or _TIMES.fullmatch(text) or _NUMBER.fullmatch(text))


def _rows(lines: Sequence[str], at: int, names: Sequence[str]) -> tuple[list[list[str]], int]:
    """The rows below a header, a line each, and where they end."""
    rows: list[list[str]] = []
    header = [name.lower() for name in names]
    for end in range(at, len(lines)):
        line = lines[end]
        cells = _row_cells(line)
        if _is_rule(cells) or [cell.lower() for cell in cells] == header:
            continue  # Under the header, or the header once more.
        if line == END_OF_TABLE and not rows:
            continue  # The header was a table of its own.
        is_row = len(cells) == len(names) or (len(cells) > 1 and any(map(_AXES.fullmatch, cells)))
        if line == END_OF_TABLE or not is_row or _label_of(cells[0]):
            return rows, end
        _add(rows, cells)
    return rows, len(lines)


def _is_rule(cells: Sequence[str]) -> bool:
    text = "".join(cells)
    return "--" in text and not text.strip("-: ")


def _add(rows: list[list[str]], cells: list[str]) -> None:
    if len(rows) == MOST_ROWS:
        raise Unreadable(f"its table of benchmark results has more than {MOST_ROWS:,} rows")
    rows.append(cells)


def _row_cells(line: str) -> list[str]:
    if CELL in line or "|" in line:
        return _split(line)
    # With spaces between its cells: only the axes have any within.
    if axes := _AXES.search(line):
        before, after = line[: axes.start()].split(), line[axes.end() :].split()
        return [*before, axes[0], *after]
    return _split(line)


def _stacked_rows(lines: Sequence[str], at: int, names: Sequence[str]) -> tuple[list[list[str]], int]:
    """The rows below a header whose cells stand a line each, and where they end; the last may be cut off."""
    rows: list[list[str]] = []
    workload = next(place for place, name in enumerate(names) if (_column(name) or [""])[0][:1] in "wW")
    while at < len(lines):
        cells = [plain(line) for line in lines[at : at + len(names)]]
        if not _AXES.fullmatch((cells[workload : workload + 1] or [""])[0]):
            break
        _add(rows, cells)
        at += len(cells)
    return rows, at


def _case(table: _ResultTable, cells: list[str]) -> Row:
    """One row of the table. Raises Unreadable where it can't be read."""
    if len(cells) != len(table.columns) + len(table.unknown):
        raise Unreadable(
            f"it has {len(cells)} cells, and the table {len(table.columns) + len(table.unknown)} columns"
        )
    shown = {name: cells[place] for name, place in table.columns.items()}
    latency = _milliseconds(table, "latency", shown["latency"])
    if latency is None or not Decimal(latency):
        raise Unreadable(
            f"{shown['workload'][:100]!r} shows the latency {shown['latency'][:60]!r}: "
            "had the table finished loading?"
        )
    return {
        "workload": shown["workload"][:1000],
        "axes": orjson.dumps(_axes(shown["workload"])).decode(),
        "latency_ms": latency,
        "baseline_ms": _milliseconds(table, "baseline", shown["baseline"]),
        "speedup": _number(_TIMES, "speedup", shown["speedup"]),
        "sol_score": _number(_NUMBER, "SOL score", shown["sol score"]),
    }


def _axes(text: str) -> dict[str, int]:
    """The axes that a workload names, in lower case. Raises Unreadable where it names none."""
    if not _AXES.fullmatch(text):
        raise Unreadable(f"its workload {text[:100]!r} names no axes like batch_size=2")
    pairs = [re.split(r" ?[=:] ?", axis) for axis in re.findall(_AXIS, text)]
    axes = {name.lower(): int(value) for name, value in pairs}
    if len(axes) < len(pairs):
        raise Unreadable(f"its workload {text[:100]!r} names an axis twice")
    return axes


def _milliseconds(table: _ResultTable, column: str, text: str) -> str | None:
    """A time as shown, in milliseconds and with as many digits; None where the cell is empty."""
    if text.lower() in _ABSENT:
        return None
    number = _NUMBER.fullmatch(text)
    unit = (number and number[2]) or table.units[column]
    if not number or (number[2] and table.units[column] not in ("", number[2])):
        raise Unreadable(f"its {column} {text[:60]!r} is no number")
    if unit not in _UNITS:
        raise Unreadable(f"its {column} is in {unit or 'no unit'!r}; known are {', '.join(_UNITS)}")
    # Its exponent stays that of the last digit shown: 1 s is 1E+3 ms, not 1000.
    return str(Decimal(number[1]).scaleb(_UNITS[unit]))


def _number(pattern: re.Pattern[str], what: str, text: str) -> str | None:
    if text.lower() in _ABSENT:
        return None
    number = pattern.fullmatch(text)
    if not number or (pattern is _NUMBER and number[2]):
        raise Unreadable(f"its {what} {text[:60]!r} is no number")
    return number[1]


def _time(text: str | None) -> datetime | None:
    """A time in UTC. Raises Unreadable where it does not say of which zone it is."""
    if text is None:
        return None
    try:
        found = _TIME.fullmatch(text)
        if found is None:
            raise ValueError
        day, time, fraction, is_utc, sign, hours, minutes = found.groups()
        offset = "+00:00" if is_utc else f"{sign}{int(hours):02}:{minutes or '00'}"
        seconds = "" if time.count(":") == 2 else ":00"
        microseconds = (fraction or "").ljust(6, "0")[:6]
        return in_years(datetime.fromisoformat(f"{day}T{time}{seconds}.{microseconds}{offset}")).astimezone(
            UTC
        )
    except (ValueError, OverflowError):
        raise Unreadable(
            f"{text[:60]!r} is no time of 1970 to 2261 with an offset, like 2026-09-15 09:16:06 UTC+08:00"
        ) from None
