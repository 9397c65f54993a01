"""Where everything is kept: the one directory `$KERNELINDEX_HOME`, and what lies where in it."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Home:
    """The directory of all that the pipeline keeps.

    - `snapshots/`: the bytes of every page, by digest
    - `parts/<kernel key>/<stage>.zip`: what a stage made of one kernel
    - `crawl.jsonl`: the answers of a crawl that is not over; `crawl.lock`: held by the run that fetches live
    - `consent.json`: that a person agreed to fetch live
    - `inbox/`: where people put saved pages
    - `parts/<page key>/saved.zip`, `parts/inbox/cases.zip`: what a saved page says, what all of them came to
    - `tables/<table>.parquet`, `warehouse.duckdb`: what is published
    - `dagster/`: Dagster's own home
    """

    directory: Path

    @property
    def snapshots(self) -> Path:
        """The directory of page bytes."""
        return self.directory / "snapshots"

    @property
    def kernel_listing(self) -> Path:
        """The part that holds the listing of kernels."""
        return self.directory / "parts" / "kernels.zip"

    def part(self, kernel_key: str, stage: str) -> Path:
        """The part that a stage (pages, records, manifests) made of one kernel."""
        return self.directory / "parts" / kernel_key / f"{stage}.zip"

    def parts(self, stage: str) -> list[Path]:
        """The parts that a stage (listing, pages, records, manifests) made, in order of kernel keys."""
        if stage == "listing":
            return [path for path in [self.kernel_listing] if path.exists()]
        return sorted(self.directory.glob(f"parts/*/{stage}.zip"))

    @property
    def crawl(self) -> Path:
        """The journal of a crawl that is not over."""
        return self.directory / "crawl.jsonl"

    @property
    def crawl_lock(self) -> Path:
        """The file that the one run which fetches live holds locked."""
        return self.directory / "crawl.lock"

    @property
    def consent(self) -> Path:
        """What says that a person agreed to fetch live."""
        return self.directory / "consent.json"

    @property
    def inbox(self) -> Path:
        """The folder of saved pages."""
        return self.directory / "inbox"

    def saved_page(self, page_digest: str) -> Path:
        """The part that holds what a saved page says."""
        return self.part(f"saved-{page_digest.removeprefix('sha256:')[:40]}", "saved")

    @property
    def case_runs(self) -> Path:
        """The part that holds what all saved pages came to."""
        return self.part("inbox", "cases")

    @property
    def collected(self) -> Path:
        """What version of all parts the tables were collected from."""
        return self.directory / "tables" / "collected"

    def table(self, name: str) -> Path:
        """The Parquet file of a table."""
        return self.directory / "tables" / f"{name}.parquet"

    @property
    def warehouse(self) -> Path:
        """The DuckDB file."""
        return self.directory / "warehouse.duckdb"

    @property
    def dagster(self) -> Path:
        """Dagster's home."""
        return self.directory / "dagster"
