"""The one resource that assets use: the settings, and what they lead to."""

import dagster as dg
from pydantic import PrivateAttr

from assets.leaderboard.sources import Source
from pipelines.own_runs import home_tag
from pipelines.pools import limit_pools
from pipelines.settings import Settings
from warehouse.home import Home


class Pipeline(dg.ConfigurableResource):  # type: ignore[type-arg]
    """Settings for one run; what is left out comes from the environment."""

    home: str | None = None
    source: str | None = None
    accept_loss: bool | None = None
    base_url: str | None = None
    incremental: bool | None = None
    max_requests: int | None = None
    request_interval_s: float | None = None
    allowed_hosts: str | None = None
    allow_private_hosts: bool | None = None
    accept_terms: bool | None = None
    contact: str | None = None

    _source: Source | None = PrivateAttr(default=None)

    def setup_for_execution(self, context: dg.InitResourceContext) -> None:
        """Let the run bear its home as a tag, whoever launched it and however, and limit the pools.

        Raises dg.Failure where the instance can't limit pools.
        """
        if context.run and context.instance:
            limit_pools(context.instance)
            context.instance.add_run_tags(context.run.run_id, home_tag(self.kept().directory))

    def settings(self) -> Settings:
        """The settings of this run."""
        given = {name: value for name, value in self if value is not None}
        return Settings(**given)

    def kept(self) -> Home:
        """The home: where everything is kept. Raises HomeError where a newer version wrote there."""
        return self.settings().kept()

    def open_source(self) -> Source:
        """The source of pages, one for the whole run, which may make only so many requests.

        Raises SourceError where it can't be opened.
        """
        self._source = self._source or self.settings().opened_source()
        return self._source
