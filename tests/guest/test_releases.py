"""The main job with other releases of Dagster than the installed one."""

import json
from pathlib import Path

import pytest

from assets.leaderboard.assets import KERNELS
from pipelines.names import PREFIX
from tests.examples import sample_ids
from tests.guest.dagsters import Dagster, install_dagster, releases
from warehouse.home import Home
from warehouse.parquet import row_count
from warehouse.tables import TABLES

# Each kernel's last materialisation is an event of its own, with its own data version.
TELL = f"""
import json, dagster as dg
from dagster._core.definitions.data_version import extract_data_version_from_entry as version_of
key = dg.AssetKey(["{PREFIX}", "kernel_manifests"])
with dg.DagsterInstance.get() as instance:
    records = instance.fetch_materializations(key, limit=1000).records
    versions = {{record.partition_key: version_of(record.event_log_entry).value for record in records}}
    kernels = instance.get_dynamic_partitions("{KERNELS}")
print(json.dumps([dg.__version__, versions, kernels]))
"""


@pytest.mark.parametrize("which", ["oldest", "newest"])
def test_the_main_job_runs_with_the_oldest_and_the_newest_release_in_the_range(
    which: str, tmp_path: Path
) -> None:
    release = releases()[0 if which == "oldest" else -1]
    install_dagster(tmp_path / "packages", release)
    (tmp_path / "dagster").mkdir()
    (tmp_path / "telling.py").write_text(TELL)
    dagster = Dagster(tmp_path / "dagster", tmp_path / "packages")
    home = Home(tmp_path / "home")

    dagster.run("-m", "pipelines.cli", "ingest", "--home", str(home.directory))

    found, versions, kernels = json.loads(dagster.run(str(tmp_path / "telling.py")))
    assert found == release
    assert row_count(home, TABLES["rankings"]) == 75
    assert set(versions) == set(kernels) == set(sample_ids())
    assert len(set(versions.values())) == len(sample_ids())
