"""Two code locations of ours and the command at once, in one instance and on one home."""

from pathlib import Path

from pipelines.jobs import range_tags
from tests.guest.conftest import knowing_home
from tests.guest.dagsters import Dagster
from tests.pipelines.ui import Ui, dagster_dev
from warehouse.home import Home
from warehouse.parquet import read_table
from warehouse.tables import TABLES

LOCATIONS = ("ours", "ours too")
WORKSPACE = "load_from:\n" + "".join(
    f"  - python_module: {{module_name: pipelines.definitions, location_name: {location}}}\n"
    for location in LOCATIONS
)


def test_two_code_locations_and_the_command_at_once_make_what_one_run_makes(
    tmp_path: Path, one_run: Home
) -> None:
    home = knowing_home(one_run, tmp_path / "home")
    (tmp_path / "dagster").mkdir()
    (tmp_path / "workspace.yaml").write_text(WORKSPACE)
    dagster = Dagster(tmp_path / "dagster")
    environment = dagster.environment(KERNELINDEX_HOME=str(home.directory))

    with dagster_dev(["-w", str(tmp_path / "workspace.yaml")], environment, tmp_path) as url:
        uis = [Ui(url, home, location) for location in LOCATIONS]
        runs = [ui.run_job("ingest", range_tags(ui.kernels())) for ui in uis]
        dagster.run("-m", "pipelines.cli", "ingest", "--home", str(home.directory))
        uis[0].done(*runs)
        assert uis[0].run_statuses() == ["SUCCESS"] * 3

    for table in TABLES.values():
        assert read_table(home, table).equals(read_table(one_run, table)), table.name
