"""What tests of several rooms share: real kernels of the recorded sample, to change and to read."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from assets.leaderboard.kernel_pages import (
    fetch_kernel,
    fetch_kernel_listing,
    kernel_listing,
    with_listing,
)
from assets.leaderboard.records import Records, read_kernel
from assets.leaderboard.snapshots import Page
from assets.leaderboard.sources import RecordedSource, Source
from assets.manifests.kernel_manifests import MANIFEST_TABLES, SOURCE_TABLES, make_manifests
from assets.manifests.normalise import normalise
from assets.rankings.tables import TABLES as RANKING_TABLES
from assets.rankings.tables import rank_tables
from warehouse.home import Home
from warehouse.parquet import collect, table_of, write_table
from warehouse.tables import DRIFT, PAGES, QUARANTINE, SOURCE_KERNELS, TABLES

Row = dict[str, Any]
Tables = dict[str, list[Row]]

FIXTURES = Path(__file__).with_name("fixtures")
SERVED = datetime(2026, 8, 16, tzinfo=UTC)

# Kernels of the sample that examples like to use, for what is special in them.
AUDIO_ENCODER = "014_audio_encoder_varlen_attention_with_chunking_backward"  # has seed 3268
GEMM = "004_gemm_n128_k2048"  # axes K, M, N
ROPE_FREQUENCY = "016_rope_inverse_frequency_computation"  # one workload, 16 times
RAGGED_PREFILL = "017_gqa_ragged_prefill_causal_h32_kv8_d128"  # 21 workloads, 11 of them distinct
STRIDED_CONV = "041_strided_conv2d_downsampling"  # derived axes with // and parentheses
RMSNORM = "021_rmsnorm_h128"  # the smallest


@dataclass
class Kernel:
    """What the source says of a kernel, as data: a test changes it, then reads it."""

    definition: Row
    submissions: list[Row]

    @property
    def id(self) -> int:
        return int(self.definition["id"])

    @property
    def workloads(self) -> list[Row]:
        workloads: list[Row] = self.definition["workloads"]
        return workloads

    def definition_page(self) -> Page:
        return answer(f"/kernels/{self.id}", self.definition)

    def submissions_page(self, submissions: list[Row] | None = None, offset: int | None = None) -> Page:
        listed = self.submissions if submissions is None else submissions
        more = "" if offset is None else f"&offset={offset}"
        listing = {"submissions": listed, "total": len(self.submissions)}
        return answer(f"/submissions?kernel_id={self.id}{more}", listing)

    def pages(self) -> list[Page]:
        return [self.definition_page(), self.submissions_page()]

    def read(self) -> Records:
        return read_kernel(self.id, self.pages())

    def tables(self) -> Tables:
        return tables_of(self.id, self.pages())


@cache
def sample_ids() -> Mapping[str, int]:
    """The ids of the sample's kernels, by name."""
    (listing,) = RecordedSource().kernel_listing()
    return {kernel["name"]: kernel["id"] for kernel in json.loads(listing.body)["data"]["kernels"]}


@cache
def recorded_pages(name: str) -> tuple[Page, ...]:
    return tuple(RecordedSource().kernel(sample_ids()[name]))


def recorded(name: str) -> Kernel:
    """A kernel of the sample, anew."""
    definition, submissions = (json.loads(page.body)["data"] for page in recorded_pages(name))
    return Kernel(definition, submissions["submissions"])


def stamp(path: Path) -> tuple[int, int]:
    """What changes whenever a file is written or replaced (and, unlike its times of access, only then)."""
    stat = path.stat()
    return stat.st_ino, stat.st_mtime_ns


def page(locator: str, body: bytes) -> Page:
    return Page(locator, body, SERVED, resolved_locator=f"test:{locator}")


def answer(locator: str, data: object) -> Page:
    """The page that answers with data; what JSON has no form for (NaN, ...) goes as Python writes it."""
    return page(locator, json.dumps({"data": data}).encode("utf-8", "surrogatepass"))


def tables_of(kernel_id: int, pages: Iterable[Page]) -> Tables:
    """What is made of a kernel's pages: rows by table, each of which fits its table's schema."""
    pages = list(pages)
    made = normalise(read_kernel(kernel_id, pages), pages)
    return {
        table.name: table_of(made[table.name], table.schema).to_pylist()
        for table in (*SOURCE_TABLES, *MANIFEST_TABLES)
    }


def manifests(tables: Tables, table: str) -> list[Row]:
    return [json.loads(row["manifest"]) for row in tables[table]]


def save(directory: Path, *kernels: Kernel) -> Path:
    """Save kernels as DirectorySource wants them."""
    for name in ("kernels", "submissions"):
        (directory / name).mkdir(parents=True, exist_ok=True)
    listing = {"kernels": [{"id": kernel.id, "name": kernel.definition["name"]} for kernel in kernels]}
    (directory / "kernels.json").write_bytes(answer("/kernels", listing).body)
    for kernel in kernels:
        (directory / f"kernels/{kernel.id}.json").write_bytes(kernel.definition_page().body)
        (directory / f"submissions/{kernel.id}.json").write_bytes(kernel.submissions_page().body)
    return directory


def ingest(source: Source, home: Home) -> None:
    """The whole way to the Parquet tables, without Dagster."""
    for kernel in fetch_kernel_listing(source, home):
        if kernel["listed"]:
            fetch_kernel(source, home, kernel["kernel_key"], kernel["kernel_id"])
    make_tables(home)


def make_tables(home: Home) -> None:
    """From the pages that a home has to its Parquet tables."""
    for kernel in kernel_listing(home):
        if home.part(kernel["kernel_key"], "pages").exists():
            make_manifests(home, kernel["kernel_key"], kernel["kernel_id"])
    for table in (*SOURCE_TABLES, *MANIFEST_TABLES, PAGES):
        stages = {PAGES: ["listing", "pages"], QUARANTINE: ["listing", "pages", "manifests"]}
        stages |= {DRIFT: ["listing", "manifests"]}
        rows = collect(home, table, stages.get(table, ["manifests"]))
        write_table(home, table, with_listing(rows, home) if table is SOURCE_KERNELS else rows)
    ranked = rank_tables(home)
    for table in RANKING_TABLES:
        write_table(home, table, ranked[table.name])
    for table in TABLES.values():
        if not home.table(table.name).exists():  # What people decide and attest: nothing.
            write_table(home, table, table.schema.empty_table())
