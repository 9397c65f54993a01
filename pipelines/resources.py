"""The one resource that assets use: the settings, and what they lead to."""

import dagster as dg

from assets.leaderboard.sources import Source
from pipelines.settings import Settings
from warehouse.home import Home


class Pipeline(dg.ConfigurableResource):  # type: ignore[type-arg]
    """Settings for one run; what is left out comes from the environment."""

    source: str | None = None

    def settings(self) -> Settings:
        """The settings of this run."""
        given = {name: value for name, value in self if value is not None}
        return Settings(**given)

    def home(self) -> Home:
        """Where everything is kept."""
        return self.settings().kept()

    def open_source(self) -> Source:
        """The source of pages. Raises SourceError where it can't be opened."""
        return self.settings().opened_source()
