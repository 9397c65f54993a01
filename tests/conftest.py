"""What tests of several rooms share, as fixtures."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from assets.leaderboard.sources import RecordedSource
from tests.examples import (
    AUDIO_ENCODER,
    FIXTURES,
    GEMM,
    RMSNORM,
    Kernel,
    Tables,
    ingest,
    recorded,
    recorded_pages,
    sample_ids,
    tables_of,
)
from warehouse.build import build_warehouse
from warehouse.home import Home

# The machine may be busy: how long an example takes says nothing.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


@pytest.fixture(scope="session")
def golden() -> dict[str, Any]:
    """Digests that KernelIndex published of the sample's kernels: see fixtures/README.md."""
    digests: dict[str, Any] = json.loads((FIXTURES / "golden.json").read_text("utf-8"))
    return digests


@pytest.fixture(scope="session")
def archive() -> Path:
    """The directory of all 235 kernels' answers; golden digests lie beside it."""
    if "KERNELINDEX_ARCHIVE" not in os.environ:
        pytest.skip("KERNELINDEX_ARCHIVE not set")
    return Path(os.environ["KERNELINDEX_ARCHIVE"])


@pytest.fixture(scope="session")
def sample() -> dict[str, Tables]:
    """What is made of each kernel of the sample, by the kernel's name."""
    return {name: tables_of(kernel_id, recorded_pages(name)) for name, kernel_id in sample_ids().items()}


@pytest.fixture(scope="session")
def sample_home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home with all Parquet tables of the sample, to read only."""
    home = Home(tmp_path_factory.mktemp("sample"))
    ingest(RecordedSource(), home)
    return home


@pytest.fixture(scope="session")
def published_home(sample_home: Home, tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home with the sample's tables and the warehouse that is built of them, to read only."""
    home = Home(tmp_path_factory.mktemp("published"))
    shutil.copytree(sample_home.directory / "tables", home.directory / "tables")
    build_warehouse(home)
    return home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """An empty home."""
    return Home(tmp_path / "home")


@pytest.fixture
def audio_encoder() -> Kernel:
    return recorded(AUDIO_ENCODER)


@pytest.fixture
def gemm() -> Kernel:
    return recorded(GEMM)


@pytest.fixture
def rmsnorm() -> Kernel:
    return recorded(RMSNORM)
