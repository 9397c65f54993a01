"""The catalog: all canonical objects as one file of JSON lines, `{"table", "row"}` a line, in Zstandard.

It has the layout, and the names of tables and fields, of KernelIndex's own export (`catalog.sql` says which).
Beside it lies `latest.json`, as KernelIndex's does, but without an address: nobody has published this one.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from warehouse.exports.rows import lines_of

# In the order of KernelIndex's export. It has artifacts and serving too, of which this leaderboard has none.
TABLES = (
    "sources",
    "projects",
    "operations",
    "operation_aliases",
    "workloads",
    "implementations",
    "benchmark_runs",
    "measurements",
    "record_events",
)


def write_catalog(
    connection: duckdb.DuckDBPyConnection, directory: Path, form: str, tables: Sequence[str]
) -> dict[str, int]:
    """Write `catalog-<date>-<digest>.jsonl.zst` and `latest.json`; return the lines by file."""
    connection.execute(Path(__file__).with_name("catalog.sql").read_text("utf-8"))
    aside = directory / "catalog.jsonl.zst"
    lines = 0
    with pa.output_stream(str(aside), compression="zstd") as file:
        for table in TABLES:
            line = f"json_object('table', '{table}', 'row', to_json(object))::varchar"
            for text in lines_of(connection, f"select {line} from catalog_{table} as object"):
                file.write(text)
                lines += 1
    with aside.open("rb") as written:
        digest = hashlib.file_digest(written, "sha256").hexdigest()
    ((newest,),) = connection.execute("select instant(max(fetched_at)) from pages").fetchall()
    path = directory / f"catalog-{(newest or 'undated')[:10]}-{digest[:8]}.jsonl.zst"
    aside.rename(path)
    latest = {
        "file": path.name,
        "sha256": digest,
        "sizeBytes": path.stat().st_size,
        "lines": lines,
        "generatedAt": newest,
    }
    (directory / "latest.json").write_text(json.dumps(latest, indent=2) + "\n")
    return {path.name: lines}
