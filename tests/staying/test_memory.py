"""Memory that is limited, for all processes of a run together: it completes.

Of how many submissions: `KERNELINDEX_SUBMISSIONS`; `make test-staying` takes 60,000. Who may not make control
groups, or is on a machine that has none, can't limit memory so.
"""

import os
import select
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.generator import generate
from tests.staying.commands import ended, started, times
from warehouse.home import Home
from warehouse.parquet import row_count
from warehouse.tables import SOURCE_SUBMISSIONS

LIMIT_BYTES = 2**30
SUBMISSIONS = times("KERNELINDEX_SUBMISSIONS", 2_000)

# Where control groups of memory are, and what limits memory and swap: version 1, then version 2.
VERSIONS = (
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes"),
    ("/sys/fs/cgroup", "memory.max", "memory.swap.max"),
)


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group: its processes have a gibibyte of memory together."""
    for directory, memory, swap in VERSIONS:
        group = Path(directory, f"kernelindex-{os.getpid()}")
        try:
            group.mkdir()
            (group / memory).write_text(str(LIMIT_BYTES))
        except OSError:
            with suppress(OSError):
                group.rmdir()
            continue
        with suppress(OSError):  # Where swap is not counted there is none to limit.
            (group / swap).write_text("0" if memory == "memory.max" else str(LIMIT_BYTES))
        yield group
        for pid in map(int, (group / "cgroup.procs").read_text().split()):
            with suppress(ProcessLookupError):  # The last of a run's processes may just be ending.
                select.select([os.pidfd_open(pid)], [], [])
        group.rmdir()
        return
    pytest.skip("this user may not limit memory, or this machine can't")


def test_a_gibibyte_is_enough(group: Path, home: Home, tmp_path: Path) -> None:
    board = generate(tmp_path / "board", submissions=SUBMISSIONS, kernels=SUBMISSIONS // 250)
    into_group = ("sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(group))

    completed = ended(started("ingest", home, "--source", str(board), by=into_group))

    assert completed.code == 0, completed.said
    assert row_count(home, SOURCE_SUBMISSIONS) == SUBMISSIONS
