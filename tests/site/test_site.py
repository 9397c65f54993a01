"""How a site is written: as a whole, in the place of another site, and of nothing else."""

import re
import shutil
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import warehouse
from pipelines.cli import app
from warehouse.home import Home
from warehouse.site import build, plots
from warehouse.site.build import SiteError, write_site


def files(directory: Path) -> dict[str, bytes]:
    return {
        path.relative_to(directory).as_posix(): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }


def test_the_same_warehouse_comes_to_the_same_bytes(asked_home: Home, site: Path, tmp_path: Path) -> None:
    with warehouse.connect(asked_home.directory) as connection:
        write_site(connection, tmp_path / "again")
    assert files(tmp_path / "again") == files(site)


def test_plots_that_can_not_be_drawn_cost_themselves_alone(
    asked_home: Home, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise ValueError("year 10183 is out of range")

    monkeypatch.setattr(plots, "_round_numbers", fails)
    with warehouse.connect(asked_home.directory) as connection:
        write_site(connection, tmp_path / "site")
    assert files(tmp_path / "site").keys() == files(site).keys()
    (kernel,) = (tmp_path / "site").glob("kernels/021*.html")
    said = "This plot can’t be drawn (ValueError: year 10183 is out of range). All its numbers are in"
    assert said in kernel.read_text("utf-8")


def test_a_site_takes_the_place_of_a_site(asked_home: Home, site: Path, tmp_path: Path) -> None:
    there = tmp_path / "there"
    (there / "runs").mkdir(parents=True)
    (there / build.MARKER).write_text("runs")
    (there / "runs" / "0123456789abcdef.html").touch()
    with warehouse.connect(asked_home.directory) as connection:
        write_site(connection, there)
    assert files(there).keys() == files(site).keys()
    assert list(tmp_path.iterdir()) == [there]


def test_anything_else_is_left_as_it_is(asked_home: Home, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with warehouse.connect(asked_home.directory) as connection:
        for taken in (tmp_path, tmp_path / "thesis.tex"):
            with pytest.raises(SiteError, match="holds something that is no site"):
                write_site(connection, taken)
    assert files(tmp_path) == {"thesis.tex": b"years of work"}


@pytest.mark.parametrize("theirs", ["CNAME", "data/warehouse.duckdb", "runs/home/snapshots/a"])
def test_what_people_put_into_a_site_is_left_to_them(
    asked_home: Home, site: Path, tmp_path: Path, theirs: str
) -> None:
    there = tmp_path / "there"
    shutil.copytree(site, there)
    (there / theirs).parent.mkdir(parents=True, exist_ok=True)
    (there / theirs).write_text("mine")
    with (
        warehouse.connect(asked_home.directory) as connection,
        pytest.raises(SiteError, match="holds something that is no site"),
    ):
        write_site(connection, there)
    assert (there / theirs).read_text() == "mine"


def test_the_directory_that_one_stands_in_is_not_taken_away(
    asked_home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with (
        warehouse.connect(asked_home.directory) as connection,
        pytest.raises(SiteError, match="is where this command runs"),
    ):
        write_site(connection, Path("."))


def test_where_a_build_fails_the_last_site_stays(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / build.MARKER).touch()
    with duckdb.connect() as empty, pytest.raises(duckdb.Error):
        write_site(empty, tmp_path / "site")
    assert files(tmp_path) == {f"site/{build.MARKER}": b""}


def test_pages_have_names_that_every_file_system_takes(asked_home: Home) -> None:
    connection = warehouse.connect(asked_home.directory)
    connection.execute((build.HERE / "names.sql").read_text())

    @given(st.text(), st.text("0123456789abcdef", min_size=64, max_size=64))
    def property_holds(slug: str, digits: str) -> None:
        names = connection.execute(
            "select kernel_page($1, $2), project_page($1, $2), run_page($2)", [slug, f"sha256:{digits}"]
        ).fetchall()[0]
        for name in names:
            assert re.fullmatch(r"(kernels|projects|runs)/[a-z0-9-]{1,73}\.html", name)
            assert digits[:12] in name  # Two of one slug have two names.

    with connection:
        property_holds()


def test_the_command_says_how_many_pages_and_where_to_begin(asked_home: Home, tmp_path: Path) -> None:
    written = CliRunner().invoke(app, ["site", str(tmp_path / "site"), "--home", str(asked_home.directory)])
    assert written.exit_code == 0, written.output
    assert "5  kernel pages" in written.stdout
    assert written.stdout.endswith(f"Open {tmp_path / 'site' / 'index.html'}\n")

    refused = CliRunner().invoke(app, ["site", str(tmp_path), "--home", str(asked_home.directory)])
    assert refused.exit_code == 1
    assert "holds something that is no site" in refused.stderr
