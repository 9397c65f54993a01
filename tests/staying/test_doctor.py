"""`kernelindex doctor`: what is installed, how fresh it is, what is wrong, and what to do about that."""

import json
import os
import re
from datetime import timedelta

import pytest

from pipelines import doctor
from pipelines.doctor import examine
from tests.staying.commands import flip, kernelindex, killed_while_writing
from warehouse.home import VERSION, Home


def test_a_home_that_is_well(ingested: Home) -> None:
    examined = kernelindex("doctor", ingested)
    assert examined.code == 0
    assert "python 3." in examined.said
    assert f"\n{ingested.directory}, " in examined.said
    assert "last run  sol_execbench_ingest: SUCCESS, ended " in examined.said
    assert examined.said.endswith("all is well\n")


def test_what_brings_newer_pages_is_said_and_that_the_sample_has_none(
    ingested: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_FRESH_FOR", timedelta.min)
    said = kernelindex("doctor", ingested).said
    assert "`kernelindex ingest --source live` brings newer ones; the sample that ships with" in said


def test_sizes_are_in_the_unit_that_fits(ingested: Home) -> None:
    said = kernelindex("doctor", ingested).said
    assert re.search(r"snapshots +[1-9][0-9.]* kB\n", said)
    assert re.search(r"inbox +0 bytes\n", said)


def test_the_same_for_scripts(ingested: Home) -> None:
    report = json.loads(kernelindex("doctor", ingested, "--json").said)
    assert {"python", "dagster", "duckdb", "pyarrow"} < report["installed"].keys()
    assert report["home"] == str(ingested.directory)
    assert report["home_version"] == VERSION
    assert report["size_bytes"]["warehouse.duckdb"] == ingested.warehouse.stat().st_size
    assert report["last_run"]["status"] == "SUCCESS"
    assert [finding for finding in report["findings"] if finding["is_wrong"]] == []


def test_a_home_that_is_not_there_yet(home: Home) -> None:
    examined = kernelindex("doctor", home)
    assert examined.code == 1
    assert " is not there\n        run `kernelindex ingest`" in examined.said
    assert not home.directory.exists()


def test_damage_is_named_with_what_mends_it(copied: Home) -> None:
    flip(copied.table("runs"))
    examined = kernelindex("doctor", copied)
    assert examined.code == 1
    assert f"wrong  {copied.table('runs')}: " in examined.said
    assert "`kernelindex rebuild` makes it anew" in examined.said
    assert "all is well" not in examined.said


def test_a_warehouse_that_is_gone_is_made_anew_of_what_is_kept(copied: Home) -> None:
    copied.warehouse.unlink()
    (finding,) = [finding for finding in examine(copied).findings if finding.is_wrong]
    assert finding.problem == f"{copied.warehouse} is not there"
    assert finding.next_step.startswith("`kernelindex rebuild`")


def test_what_a_process_that_was_killed_left_is_nothing_to_worry_about(copied: Home) -> None:
    killed_while_writing(copied.table("runs"))
    report = examine(copied)
    assert report.is_well
    assert "1 files were being written when their process was killed" in [
        finding.problem for finding in report.findings
    ]


def test_names_do_nothing_to_a_terminal(copied: Home) -> None:
    kept = Home(copied.directory.with_name("\x1b[31mred [bold]"))
    os.rename(copied.directory, kept.directory)
    kept.warehouse.unlink()
    said = kernelindex("doctor", kept).said
    assert "\x1b" not in said
    assert "red [bold]" in said


def test_dagster_s_own_home_that_is_damaged_is_named(copied: Home) -> None:
    (copied.dagster / "history" / "runs.db").write_bytes(b"no database" * 1000)
    wrong = [finding for finding in examine(copied).findings if finding.is_wrong]
    assert any("Dagster's runs" in finding.problem for finding in wrong)
