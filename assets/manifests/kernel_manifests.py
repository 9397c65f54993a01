"""Reading and normalising a kernel: from its pages to the part that holds its records and manifests.

How pages are read belongs in `assets.leaderboard.records`, the rules of manifests in `normalise`.
"""

from assets.leaderboard.kernel_pages import current_pages, page_of
from assets.leaderboard.records import PARSER_VERSION, read_kernel
from assets.leaderboard.snapshots import Snapshots
from assets.manifests.normalise import NORMALISER_VERSION, normalise
from warehouse.home import Home
from warehouse.parquet import table_of
from warehouse.parts import Made, made, part_version, write_part
from warehouse.tables import (
    DRIFT,
    ENVIRONMENTS,
    IMPLEMENTATIONS,
    OPERATIONS,
    PROJECTS,
    PROTOCOLS,
    QUARANTINE,
    RUNS,
    SOURCE_KERNELS,
    SOURCE_SUBMISSIONS,
    SOURCE_WORKLOADS,
    WORKLOADS,
)

CODE_VERSION = f"parser {PARSER_VERSION}, normaliser {NORMALISER_VERSION}"

SOURCE_TABLES = (SOURCE_KERNELS, SOURCE_WORKLOADS, SOURCE_SUBMISSIONS, QUARANTINE, DRIFT)
MANIFEST_TABLES = (
    OPERATIONS,
    WORKLOADS,
    PROJECTS,
    IMPLEMENTATIONS,
    PROTOCOLS,
    ENVIRONMENTS,
    RUNS,
)


def make_manifests(home: Home, key: str, kernel_id: int) -> Made:
    """Make a kernel's manifests of its current pages; nothing, where they were made of the same before.

    Raises FileNotFoundError where its pages were never fetched, SnapshotError where their bytes are gone.
    """
    path = home.part(key, "manifests")
    version = f"{CODE_VERSION}, pages {part_version(home.part(key, 'pages'))}"
    changed = part_version(path) != version
    if changed:
        snapshots = Snapshots(home.snapshots)
        pages = [page_of(row, snapshots) for row in current_pages(home, key)]
        rows = normalise(read_kernel(kernel_id, pages), pages)
        tables = {
            table.name: table_of(rows[table.name], table.schema)
            for table in (*SOURCE_TABLES, *MANIFEST_TABLES)
        }
        write_part(path, tables, version)
    return made(path, changed)
