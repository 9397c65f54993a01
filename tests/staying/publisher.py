"""A process that publishes one of two warehouses, then the other: `... publisher HOME TIMES`.

Says after each which version it published, and how many runs that has.
"""

import sys
from pathlib import Path

from warehouse.build import build_warehouse, warehouse_version
from warehouse.home import Home
from warehouse.parquet import read_table, write_table
from warehouse.tables import RUNS


def publish(home: Home, times: int) -> None:
    """Publish so often, now with all runs, now with none."""
    runs = read_table(home, RUNS)
    for number in range(times):
        rows = runs.slice(0, 0 if number % 2 else len(runs))
        write_table(home, RUNS, rows)
        build_warehouse(home)
        print(warehouse_version(home), len(rows), flush=True)


if __name__ == "__main__":
    publish(Home(Path(sys.argv[1])), int(sys.argv[2]))
