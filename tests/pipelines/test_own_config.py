"""The `dagster.yaml` of an instance of our own: what an operator adds to it stays, and counts."""

from pathlib import Path

import dagster as dg
import pytest
import yaml

from pipelines import own_config
from pipelines.instance import open_instance
from pipelines.own_config import OURS, write_config
from warehouse.home import Home, HomeError

LAUNCHER = "# Ours, of the platform team.\nrun_launcher:\n  module: dagster\n  class: DefaultRunLauncher\n"
POSTGRES = "storage:\n  postgres:\n    postgres_url: postgresql://somebody@localhost/dagster\n"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "dagster" / "dagster.yaml"


def settings(path: Path) -> dict[str, object]:
    read: dict[str, object] = yaml.safe_load(path.read_text())
    return read


def ours() -> dict[str, object]:
    return settings(OURS)


def test_a_new_instance_has_our_settings(config: Path) -> None:
    write_config(config)
    assert settings(config) == ours()


@pytest.mark.parametrize("place", ["before", "after"])
def test_what_an_operator_adds_stays_with_its_comments(config: Path, place: str) -> None:
    write_config(config)
    text = config.read_text()
    config.write_text(LAUNCHER + text if place == "before" else text + LAUNCHER)

    write_config(config)

    assert LAUNCHER in config.read_text()
    assert settings(config) == {**ours(), **yaml.safe_load(LAUNCHER)}


def test_a_file_that_was_there_before_us_stays(config: Path) -> None:
    config.parent.mkdir()
    config.write_text(LAUNCHER)
    write_config(config)
    assert config.read_text().startswith(LAUNCHER)
    assert settings(config) == {**ours(), **yaml.safe_load(LAUNCHER)}


def test_of_a_setting_that_stands_there_too_the_operators_counts(config: Path) -> None:
    config.parent.mkdir()
    config.write_text("concurrency:\n  runs:\n    max_concurrent_runs: 9\n")
    write_config(config)
    assert settings(config)["concurrency"] == {"runs": {"max_concurrent_runs": 9}}


def test_postgres_takes_the_place_of_our_event_log(config: Path) -> None:
    config.parent.mkdir()
    config.write_text(POSTGRES)
    write_config(config)
    assert "storage" in settings(config)
    assert "event_log_storage" not in settings(config)


def test_a_setting_of_ours_that_was_edited_is_the_operators_from_then_on(config: Path) -> None:
    write_config(config)
    edited = config.read_text().replace("max_concurrent_runs: 4", "max_concurrent_runs: 9")
    config.write_text(edited)
    write_config(config)
    assert settings(config)["concurrency"] == {"runs": {"max_concurrent_runs": 9}}


def test_where_ours_change_they_are_written_anew_and_the_operators_stay(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    write_config(config)
    config.write_text(LAUNCHER + config.read_text())
    newer = tmp_path / "newer.yaml"
    newer.write_text(OURS.read_text().replace("purge_after_days: 90", "purge_after_days: 60"))
    monkeypatch.setattr(own_config, "OURS", newer)

    write_config(config)

    assert settings(config) == {**settings(newer), **yaml.safe_load(LAUNCHER)}
    assert "what is yours in it stays" in caplog.text


def test_a_second_look_changes_nothing(config: Path) -> None:
    config.parent.mkdir()
    config.write_text(LAUNCHER)
    write_config(config)
    before = config.read_text()
    write_config(config)
    assert config.read_text() == before


@pytest.mark.parametrize("text", ["storage: [", "just words", "- a list\n"])
def test_a_file_that_is_no_settings_is_refused_in_words(config: Path, text: str) -> None:
    config.parent.mkdir()
    config.write_text(text)
    with pytest.raises(HomeError, match=r"dagster\.yaml can't be read"):
        write_config(config)
    assert config.read_text() == text


def test_dagster_takes_what_is_written(home: Home) -> None:
    home.dagster.mkdir(parents=True)
    (home.dagster / "dagster.yaml").write_text(LAUNCHER)
    with open_instance(home) as instance:
        assert isinstance(instance, dg.DagsterInstance)
        assert not instance.telemetry_enabled
