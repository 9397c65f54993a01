"""Progress of long loops, as log lines: on the command's screen, and in Dagster's log of the run."""

import logging
import time
from collections.abc import Iterator, Mapping, Sequence

from pipelines.terminal import printable

log = logging.getLogger("kernelindex")


def _harmless(record: logging.LogRecord) -> bool:
    """Make what a line says printable: it goes to the command's screen, and to terminals of Dagster's."""
    record.msg, record.args = printable(record.getMessage()), None
    return True


log.addFilter(_harmless)

EVERY_S = 2.0


def progress(keys: Sequence[str], doing: str, work: Mapping[str, float] | None = None) -> Iterator[str]:
    """Give each key; say how many there are, and every two seconds how many are done and what is left.

    `work` is how much each key is, in any unit: the time left goes by the work done, not by the keys.
    """
    log.info("%s %d kernels", doing, len(keys))
    work = work or dict.fromkeys(keys, 1.0)
    all_work, work_done = sum(work.values()), 0.0
    begun = said = time.monotonic()
    for done, key in enumerate(keys):
        now = time.monotonic()
        if now - said >= EVERY_S:
            left_s = (now - begun) * (all_work / work_done - 1) if work_done else None
            left = "" if left_s is None else f", about {time_in_words(left_s)} left"
            log.info("%s: %d of %d kernels done%s", doing, done, len(keys), left)
            said = now
        yield key
        work_done += work[key]


def time_in_words(seconds: float) -> str:
    """A time as people say it, no more exact than it is worth."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 100 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
