"""How values read in tables: as short text, a dash for what is not known. Templates use these as filters."""

from datetime import datetime

from warehouse import dossier
from warehouse.dossier import axes

UNKNOWN = "–"


def microseconds(ms: float | None, digits: int = 3) -> str:
    """A latency in microseconds, to the nanosecond that the source gives."""
    return fixed(None if ms is None else ms * 1000, digits)


def fixed(value: float | None, digits: int = 2) -> str:
    """A number with so many digits after the point."""
    return UNKNOWN if value is None else f"{value:,.{digits}f}"


def times(ratio: float | None, digits: int = 2) -> str:
    """A ratio, as 1.12×."""
    return UNKNOWN if ratio is None else f"{ratio:,.{digits}f}×"


def over(one: float | None, other: float | None) -> float | None:
    """The ratio of two numbers, where there is one."""
    return one / other if one is not None and other else None


def less(one: float | None, other: float | None, digits: int = 4) -> str:
    """What one number has over another, with its sign."""
    return UNKNOWN if one is None or other is None else f"{one - other:+,.{digits}f}"


def percent(share: float | None) -> str:
    """A share, as 69.4 %."""
    return UNKNOWN if share is None else f"{share * 100:.1f} %"


def lead(ratio: float | None) -> str:
    """How much longer rank 2 takes than rank 1, as 1.31 %; or as 0.0082 %, where two digits would hide it."""
    if ratio is None:
        return UNKNOWN
    per_cent = (ratio - 1) * 100
    return f"{per_cent:,.2f} %" if per_cent >= 0.1 else f"{per_cent:.2g} %"


def day(moment: datetime | None) -> str:
    """The day of a moment, UTC."""
    return UNKNOWN if moment is None else dossier.day(moment)


def minute(moment: datetime | None) -> str:
    """A moment to the minute, UTC."""
    return UNKNOWN if moment is None else f"{moment:%Y-%m-%d %H:%M}"


def known(value: object) -> object:
    """The value, or a dash where there is none."""
    return UNKNOWN if value is None else value


def submissions(count: int) -> str:
    """What there is of a kernel on a stack on which it has no run."""
    return f"no run; submissions: {count}" if count else "no submissions yet"


FILTERS = {
    function.__name__: function
    for function in (
        microseconds,
        fixed,
        times,
        over,
        less,
        percent,
        lead,
        day,
        minute,
        axes,
        known,
        submissions,
    )
}
