"""Ingesting live, as its users run it: consent, forecast, settings, and what a run says and shows."""

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb
import pytest
from typer.testing import CliRunner

from assets.leaderboard.assets import KERNELS, tally_of
from assets.leaderboard.live import LiveSource
from assets.leaderboard.pages import Tally
from assets.leaderboard.sources import SourceError
from pipelines.cli import app
from pipelines.definitions import defs
from pipelines.jobs import range_tags
from pipelines.names import asset_key, own
from pipelines.settings import BASE_URL, Settings
from tests.leaderboard_server import LeaderboardServer, status
from tests.live_crawls import saved_sample
from warehouse.home import Home

GEMM = "004_gemm_n128_k2048"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LeaderboardServer]:
    with LeaderboardServer(saved_sample(tmp_path / "served")) as server:
        yield server


def settings_of(server: LeaderboardServer) -> dict[str, Any]:
    return {
        "source": "live",
        "base_url": server.url,
        "allow_private_hosts": True,
        "request_interval_s": 0.0,
        "accept_terms": True,
    }


def options(server: LeaderboardServer, home: Home, *more: str) -> list[str]:
    return [
        *("ingest", "--source", "live", "--home", str(home.directory), "--base-url", server.url),
        *("--allow-private-hosts", "--request-interval-s", "0", *more),
    ]


def kernelindex(*arguments: str, stdin: int = subprocess.DEVNULL) -> tuple[int, str]:
    """Run the command, without a terminal unless one is given: its exit code, and what it said."""
    process = subprocess.run(
        [sys.executable, "-m", "pipelines.cli", *arguments],
        stdin=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "COLUMNS": "1000"},
    )
    return process.returncode, " ".join((process.stdout + process.stderr).split())


def kernelindex_on_a_terminal(answer: str, *arguments: str) -> tuple[int, str]:
    """Run the command on a terminal where a person gives this answer."""
    terminal, of_the_command = pty.openpty()
    os.write(terminal, f"{answer}\n".encode())
    try:
        return kernelindex(*arguments, stdin=of_the_command)
    finally:
        os.close(terminal)
        os.close(of_the_command)


def said_at_once(*arguments: str) -> tuple[int, str]:
    """What the command says before it begins a run, and its exit code; in this process."""
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, " ".join(result.output.split())


# Consent.


def test_without_consent_and_a_terminal_nothing_is_asked_for(server: LeaderboardServer, home: Home) -> None:
    code, said = said_at_once(*options(server, home))
    assert code == 1
    assert "--accept-terms" in said
    assert "KERNELINDEX_ACCEPT_TERMS=1" in said
    assert not server.requests


def test_on_a_terminal_it_is_asked_for_in_words_about_the_terms(
    server: LeaderboardServer, home: Home
) -> None:
    code, said = kernelindex_on_a_terminal("n", *options(server, home))
    assert code == 1
    for words in (server.url, "restraint", "one at a time", "not for republishing", "Do you agree?"):
        assert words in said
    assert not server.requests
    assert not home.consent.exists()


def test_consent_is_asked_for_once(server: LeaderboardServer, home: Home) -> None:
    given = settings_of(server) | {"home": home.directory, "accept_terms": False}
    assert not Settings(**given).may_fetch_live()
    code, said = kernelindex_on_a_terminal("y", *options(server, home, "--max-requests", "0"))
    assert code == 1
    assert "the run has made all its 0 requests" in said
    assert Settings(**given).may_fetch_live()


def test_consent_is_for_one_server(server: LeaderboardServer, home: Home) -> None:
    given = settings_of(server) | {"home": home.directory, "accept_terms": False}
    home.consent.parent.mkdir(parents=True)
    home.consent.write_text('{"base_url": "https://another.test/api"}')
    with pytest.raises(SourceError, match="needs your consent"):
        Settings(**given).opened_source()
    home.consent.write_text(f'{{"base_url": "{server.url}"}}')
    assert isinstance(Settings(**given).opened_source(), LiveSource)


# Settings.


def test_settings_come_from_the_environment_under_the_same_names(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "SOURCE": "live",
        "BASE_URL": "https://mirror.test/api",
        "REQUEST_INTERVAL_S": "2.5",
        "ALLOWED_HOSTS": "mirror.test, other.test",
        "ALLOW_PRIVATE_HOSTS": "1",
        "ACCEPT_TERMS": "yes",
        "MAX_REQUESTS": "10",
        "INCREMENTAL": "true",
        "CONTACT": "https://kernels.test/contact",
    }.items():
        monkeypatch.setenv(f"KERNELINDEX_{name}", value)
    settings = Settings()
    assert (settings.base_url, settings.request_interval_s) == ("https://mirror.test/api", 2.5)
    assert (settings.max_requests, settings.incremental) == (10, True)
    assert isinstance(settings.opened_source(), LiveSource)


def test_live_is_never_a_default() -> None:
    settings = Settings()
    assert settings.source == "recorded"
    assert (settings.base_url, settings.request_interval_s) == (BASE_URL, 1.0)
    assert (settings.allow_private_hosts, settings.accept_terms) == (False, False)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"base_url": "http://127.0.0.1/api"}, "only HTTPS"),
        ({"base_url": "https://mirror.test/api", "allowed_hosts": "other.test"}, "'mirror.test' is refused"),
        ({"base_url": "nowhere"}, "base_url can't be used"),
    ],
)
def test_a_server_that_may_not_be_fetched_from_is_refused_in_words(given: dict[str, Any], why: str) -> None:
    with pytest.raises(SourceError, match=why):
        Settings(source="live", accept_terms=True, **given).opened_source()


# The command.


def test_a_dry_run_makes_no_request_and_says_how_many_it_would_make(
    server: LeaderboardServer, home: Home
) -> None:
    code, said = said_at_once(*options(server, home, "--dry-run"))
    assert code == 0
    assert "at least 1881 requests" in said
    assert "Nothing was asked for now." in said
    assert not server.requests
    assert not home.directory.exists()


def test_a_kernel_that_fails_is_named_in_the_end_and_the_others_are_published(
    server: LeaderboardServer, home: Home
) -> None:
    server.misbehave("kernel_id=213", status(404))
    code, said = kernelindex(*options(server, home, "--accept-terms"))
    assert code == 1, said
    assert (
        f"1 kernels failed: {GEMM} (/submissions?kernel_id=213: the server answers with status 404)" in said
    )
    assert "asked 49 requests, 0 of them retries" in said
    assert "pages: 48 new, 0 changed, 0 unchanged, 1 failed" in said
    with duckdb.connect(home.warehouse, read_only=True) as warehouse:
        assert warehouse.execute("select count(*) from operations").fetchall() == [(23,)]
        assert warehouse.execute("select count(*) from pages where problem is not null").fetchall() == [(1,)]


# Runs that Dagster makes.


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield instance


def fetched(
    instance: dg.DagsterInstance, server: LeaderboardServer, home: Home, **settings: Any
) -> dg.ExecuteInProcessResult:
    """A run that fetches the listing, then all kernels that were listed before."""
    keys = instance.get_dynamic_partitions(KERNELS)
    config = {**settings_of(server), **settings}
    return defs.resolve_job_def(own("ingest")).execute_in_process(
        instance=instance,
        asset_selection=[asset_key("kernel_listing"), *([asset_key("kernel_pages")] if keys else [])],
        tags=range_tags(keys) if keys else {},
        run_config={"resources": {"pipeline": {"config": config}}},
        raise_on_error=False,
    )


@pytest.fixture
def listed(
    instance: dg.DagsterInstance, server: LeaderboardServer, home: Home, monkeypatch: pytest.MonkeyPatch
) -> dg.DagsterInstance:
    """An instance that knows the kernels, on a home that has the listing."""
    monkeypatch.setenv("KERNELINDEX_HOME", str(home.directory))
    assert fetched(instance, server, home).success
    server.requests.clear()
    return instance


def metadata(result: dg.ExecuteInProcessResult, asset: str, partition: str | None = None) -> dict[str, Any]:
    """What a run says of an asset: of a partition that it made, or could not make."""
    events: list[dg.AssetMaterialization | dg.AssetObservation] = [
        *(event.materialization for event in result.get_asset_materialization_events()),
        *(event.asset_observation_data.asset_observation for event in result.get_asset_observation_events()),
    ]
    chosen = next(
        event
        for event in events
        if event.asset_key == asset_key(asset) and partition in (None, event.partition)
    )
    return {name: value.value for name, value in chosen.metadata.items()}


def test_a_run_shows_what_was_asked_for_and_what_came(
    listed: dg.DagsterInstance, server: LeaderboardServer, home: Home
) -> None:
    server.misbehave("/kernels/213", status(503, "0"))
    server.misbehave("kernel_id=213", status(404))
    result = fetched(listed, server, home)
    shown = metadata(result, "kernel_pages")
    tally = tally_of(shown)
    assert tally == Tally(requests=49, retries=1, size_bytes=tally.size_bytes, new=47, failed=1)
    assert tally.size_bytes > 100_000
    assert (shown["kernels_fetched"], shown["kernels_changed"], shown["kernels_not_reached"]) == (23, 23, 0)
    (failed,) = shown["kernels_failed"]
    assert failed.startswith(GEMM)


def test_a_run_shows_what_happened_to_each_kernel(
    listed: dg.DagsterInstance, server: LeaderboardServer, home: Home
) -> None:
    server.misbehave("kernel_id=213", status(404))
    result = fetched(listed, server, home)
    happened = metadata(result, "kernel_pages", GEMM)["happened"]
    assert happened["problem"] == "/submissions?kernel_id=213: the server answers with status 404"
    assert (happened["asked"]["requests"], happened["asked"]["failed"]) == (2, 1)
    happened = metadata(result, "kernel_pages", "021_rmsnorm_h128")["happened"]
    assert (happened["pages"], happened["changed"], happened["asked"]["new"]) == (2, True, 2)


def test_the_cap_on_requests_is_one_for_all_steps_of_a_run(
    listed: dg.DagsterInstance, server: LeaderboardServer, home: Home
) -> None:
    result = fetched(listed, server, home, max_requests=7)
    assert len(server.requests) == 7
    shown = metadata(result, "kernel_pages")
    assert "the run has made all its 7 requests" in shown["stopped"]
    assert (shown["kernels_fetched"], shown["kernels_not_reached"]) == (3, 20)


def test_a_run_that_is_gone_on_with_asks_for_what_is_left(
    listed: dg.DagsterInstance, server: LeaderboardServer, home: Home
) -> None:
    fetched(listed, server, home, max_requests=7)
    result = fetched(listed, server, home)
    assert len(server.requests) == 49
    assert metadata(result, "kernel_pages")["kernels_fetched"] == 24


def test_a_run_without_consent_fails_with_a_sentence(
    listed: dg.DagsterInstance, server: LeaderboardServer, home: Home
) -> None:
    result = fetched(listed, server, home, accept_terms=False)
    assert not result.success
    failure = next(event for event in result.all_events if event.is_step_failure)
    user_failure = failure.step_failure_data.user_failure_data
    assert user_failure is not None
    assert "needs your consent" in (user_failure.description or "")
    assert not server.requests
