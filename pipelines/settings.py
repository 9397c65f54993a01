"""The settings: one typed object, the same names in the environment, on the command line, in run config."""

from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from assets.leaderboard.client import CONTACT, Client
from assets.leaderboard.live import LiveSource
from assets.leaderboard.sources import DirectorySource, RecordedSource, Source, SourceError
from pipelines import consent
from warehouse.home import Home

BASE_URL = "https://research.nvidia.com/benchmarks/sol-execbench/api"


class Settings(BaseSettings):
    """Each from `KERNELINDEX_<NAME>` in the environment, unless given."""

    model_config = SettingsConfigDict(env_prefix="KERNELINDEX_", frozen=True, extra="forbid")

    home: Annotated[Path, Field(description="where everything is kept")] = Path("data")
    source: Annotated[str, Field(description="recorded, a directory of saved answers, or live")] = "recorded"
    accept_loss: Annotated[bool, Field(description="publish, though most rows of a table are gone")] = False

    # Of `live` only.
    base_url: Annotated[str, Field(description="the API: the leaderboard's, or a mirror's")] = BASE_URL
    incremental: Annotated[bool, Field(description="ask for what is new, not for all pages")] = False
    max_requests: Annotated[int, Field(description="requests a run, at most", ge=0)] = 3000
    request_interval_s: Annotated[float, Field(description="pause between requests to a host", ge=0)] = 1.0
    allowed_hosts: Annotated[str | None, Field(description="comma-separated; else the API's alone")] = None
    allow_private_hosts: Annotated[bool, Field(description="private addresses and plain HTTP too")] = False
    accept_terms: Annotated[bool, Field(description="the operator's consent to fetch live")] = False
    contact: Annotated[str, Field(description="whom the User-Agent names, as a URL")] = CONTACT

    nightly_cron: Annotated[str, Field(description="when the nightly schedule ticks")] = "0 2 * * *"
    weekly_cron: Annotated[str, Field(description="when the weekly schedule ticks")] = "0 4 * * 0"
    time_zone: Annotated[str, Field(description="of both, as Europe/Berlin")] = "UTC"
    webhook_url: Annotated[str | None, Field(description="where failed runs are posted to, as JSON")] = None
    keep_runs_days: Annotated[int, Field(description="how long Dagster's runs are kept", ge=1)] = 90

    def kept(self) -> Home:
        """The home directory, as an absolute path. Raises HomeError where a newer version wrote there."""
        home = Home(self.home.absolute())
        home.refuse_newer()
        return home

    def opened_source(self) -> Source:
        """The source of pages. Raises SourceError where it can't be opened."""
        if self.source == "recorded":
            return RecordedSource()
        if self.source == "live":
            return self._live_source()
        return DirectorySource(Path(self.source))

    def may_fetch_live(self) -> bool:
        """Whether the operator agreed to it: by a setting, or once on a terminal."""
        return self.accept_terms or consent.is_remembered(self.kept(), self.base_url)

    def _live_source(self) -> LiveSource:
        if not self.may_fetch_live():
            raise SourceError(consent.REFUSED)
        hosts = self.allowed_hosts or urlsplit(self.base_url).hostname or ""
        try:
            client = Client(
                base_url=self.base_url,
                allowed_hosts=frozenset(host.strip().lower() for host in hosts.split(",")),
                max_requests=self.max_requests,
                allow_private_hosts=self.allow_private_hosts,
                request_interval_s=self.request_interval_s,
                contact=self.contact,
            )
        except ValueError as problem:
            raise SourceError(str(problem)) from problem
        return LiveSource(client, self.kept(), incremental=self.incremental)
