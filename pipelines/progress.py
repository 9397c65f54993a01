"""Progress of long loops, as log lines: on the command's screen, and in Dagster's log of the run."""

import logging
import time
from collections.abc import Iterator, Sequence

log = logging.getLogger("kernelindex")

EVERY_S = 2.0


def progress(keys: Sequence[str], doing: str) -> Iterator[str]:
    """Give each key; say how many there are, and every two seconds how many are done."""
    log.info("%s %d kernels", doing, len(keys))
    said = time.monotonic()
    for done, key in enumerate(keys):
        if time.monotonic() - said >= EVERY_S:
            log.info("%s: %d of %d kernels done", doing, done, len(keys))
            said = time.monotonic()
        yield key
