"""A process that asks a warehouse without pause until its standard input ends: `... reader WAREHOUSE`.

Then it says, as JSON, what it saw: of each version how many runs, in the table and on the leaderboard; and
how long its queries took, with opening the file.
"""

import json
import select
import statistics
import sys
import time

import duckdb

QUESTION = """
select version, (select count(*) from runs), (select count(*) from leaderboard) from warehouse_version
"""


def read(warehouse: str) -> None:
    """See the module."""
    seen = set()
    took_ms = []
    while not select.select([sys.stdin], [], [], 0)[0]:
        began = time.perf_counter()
        with duckdb.connect(warehouse, read_only=True) as connection:
            first = connection.execute(QUESTION).fetchall()
            took_ms.append(1000 * (time.perf_counter() - began))
            # Whatever is published meanwhile: who has it open sees the same.
            assert connection.execute(QUESTION).fetchall() == first
        seen.update(first)
    print(
        json.dumps({"seen": sorted(seen), "median_ms": statistics.median(took_ms), "queries": len(took_ms)})
    )


if __name__ == "__main__":
    read(sys.argv[1])
