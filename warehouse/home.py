"""Where everything is kept: the one directory `$KERNELINDEX_HOME`, and what lies where in it."""

import os
from dataclasses import dataclass
from pathlib import Path

from warehouse.files import written_aside

# Stands for what a home is like: its files, and the schema of its tables. Raise it when older code could not
# use a home of this code. The other way round nothing is needed: all is made anew of the pages.
VERSION = 1

# The stages whose parts tables are collected from, in the order of their rows.
STAGES = ("listing", "pages", "manifests", "cases")

# The stages whose tables must pass blocking checks before a warehouse is made of them.
CHECKED_STAGES = ("manifests", "rankings")


class HomeError(Exception):
    """A home that this version of the project can't use; says why, and what to do."""


@dataclass(frozen=True)
class Home:
    """The directory of all that the pipeline keeps.

    - `version`: that of the home
    - `snapshots/`: the bytes of every page, by digest
    - `parts/<kernel key>/<stage>.zip`: what a stage made of one kernel
    - `crawl.jsonl`: the answers of a crawl that is not over
    - `crawl.lock`, `ui.lock`: held by the run that fetches live, and by the UI that is open
    - `consent.json`: that a person agreed to fetch live
    - `inbox/`: where people put saved pages
    - `parts/<page key>/saved.zip`, `parts/inbox/cases.zip`: what a saved page says, what all of them came to
    - `tables/<table>.parquet`, `warehouse.duckdb`: what is published
    - `dagster/`: Dagster's own home
    """

    directory: Path

    @property
    def version(self) -> int:
        """The version of the project that wrote here last; 0 where there is none, or it said none."""
        try:
            return int((self.directory / "version").read_text())
        except FileNotFoundError:
            return 0
        except ValueError as error:
            raise HomeError(
                f"{self.directory / 'version'} is damaged: it must hold a number; this project's is {VERSION}"
            ) from error

    def refuse_newer(self) -> None:
        """Raise HomeError where a newer version of the project wrote here."""
        if self.version > VERSION:
            raise HomeError(
                f"{self.directory} was written by a newer version of this project (its version is "
                f"{self.version}, that of this project {VERSION}): install that, or give another home"
            )

    def write_version(self) -> None:
        """Note that this version of the project writes here. Raises HomeError where it can't."""
        if self.directory.exists() and not os.access(self.directory, os.W_OK):
            raise HomeError(f"nothing can be written to {self.directory}: it can only be read here")
        if self.version != VERSION:
            with written_aside(self.directory / "version") as aside:
                aside.write_text(f"{VERSION}\n")

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
        """The parts that one of STAGES made, in order of kernel keys."""
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

    @property
    def ranked(self) -> Path:
        """What version of all parts the rankings were made of."""
        return self.directory / "tables" / "ranked"

    def checked(self, stage: str) -> Path:
        """What version of all parts the blocking checks of a stage passed last; none, where one failed."""
        return self.directory / "tables" / f"checked-{stage}"

    @property
    def is_checked(self) -> bool:
        """Whether the blocking checks of both stages passed when they ran last, on whichever version."""
        return all(self.checked(stage).exists() for stage in CHECKED_STAGES)

    @property
    def is_in_step(self) -> bool:
        """Whether the rankings, and the checks that passed, are of the tables as they were collected last."""
        followers = [self.ranked, *map(self.checked, CHECKED_STAGES)]
        versions = {path.read_text() for path in followers if path.exists()}
        return self.collected.exists() and versions == {self.collected.read_text()}

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
