"""A disk that is full, in words: whatever writes there then fails in its own way."""

FULL = "the disk is full: make room, then run it again; what was published stays as it was"

# As the operating system, Arrow and DuckDB say it; and SQLite, which keeps Dagster's runs. Where SQLite can't
# map a file it speaks of an I/O error, as it does of a broken disk: that is far rarer.
_SAID = ("No space left on device", "Disk quota exceeded", "disk is full", "disk I/O error")


def says_full(text: str) -> bool:
    """Whether a message says that the disk is full."""
    return any(said in text for said in _SAID)


def comes_of_full(problem: BaseException | None) -> bool:
    """Whether an exception, or one that it came of, says that the disk is full."""
    while problem is not None:
        if says_full(str(problem)):
            return True
        problem = problem.__cause__ or problem.__context__
    return False
