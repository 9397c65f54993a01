"""What tests of live fetching share: servers to fetch from."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.leaderboard_server import LeaderboardServer, tiny_archive
from tests.live_crawls import saved_sample


@pytest.fixture
def tiny_server(tmp_path: Path) -> Iterator[LeaderboardServer]:
    """A server of one kernel with three submissions."""
    with LeaderboardServer(tiny_archive(tmp_path / "served")) as server:
        yield server


@pytest.fixture
def sample_server(tmp_path: Path) -> Iterator[LeaderboardServer]:
    """A server of the 24 kernels of the sample."""
    with LeaderboardServer(saved_sample(tmp_path / "served")) as server:
        yield server
