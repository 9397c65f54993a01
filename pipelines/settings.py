"""The settings: one typed object, the same names in the environment, on the command line, in run config."""

from pathlib import Path
from typing import Annotated

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from assets.leaderboard.sources import DirectorySource, RecordedSource, Source
from warehouse.home import Home

BASE_URL = "https://research.nvidia.com/benchmarks/sol-execbench/api"


class Settings(BaseSettings):
    """Each from `KERNELINDEX_<NAME>` in the environment, unless given."""

    model_config = SettingsConfigDict(env_prefix="KERNELINDEX_", frozen=True, extra="forbid")

    home: Annotated[Path, Field(description="where everything is kept")] = Path("data")
    source: Annotated[str, Field(description="recorded, a directory of saved answers, or live")] = "recorded"

    nightly_cron: Annotated[str, Field(description="when the nightly schedule ticks")] = "0 2 * * *"
    weekly_cron: Annotated[str, Field(description="when the weekly schedule ticks")] = "0 4 * * 0"
    time_zone: Annotated[str, Field(description="of both, as Europe/Berlin")] = "UTC"
    webhook_url: Annotated[str | None, Field(description="where failed runs are posted to, as JSON")] = None
    keep_runs_days: Annotated[int, Field(description="how long Dagster's runs are kept", ge=1)] = 90

    def kept(self) -> Home:
        """The home directory, as an absolute path."""
        return Home(self.home.absolute())

    def opened_source(self) -> Source:
        """The source of pages. Raises SourceError where it can't be opened."""
        if self.source == "recorded":
            return RecordedSource()
        return DirectorySource(Path(self.source))
