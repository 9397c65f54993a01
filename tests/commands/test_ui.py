"""`kernelindex ui`: what it refuses, and that it ends. That Dagster's UI works is for `tests/pipelines`."""

import fcntl
import os
import signal
import socket
import subprocess
import sys

import httpx
import pytest

from tests.commands.asking import Kernelindex
from tests.pipelines.ui import wait_until
from warehouse.home import Home


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the command says to Dagster stays in the test."""
    monkeypatch.setenv("DAGSTER_HOME", "")
    monkeypatch.setenv("DAGSTER_EVENT_BATCH_SIZE", "1")


def test_a_port_that_is_taken_is_refused(kernelindex: Kernelindex, home: Home) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        ended = kernelindex("ui", "--home", home.directory, "--port", port)
    assert ended.code == 1
    assert f"port {port} can't be used (Address already in use): give another with --port" in ended.complaint


def test_a_second_one_on_the_same_home_is_refused(kernelindex: Kernelindex, home: Home) -> None:
    home.directory.mkdir()
    with (home.directory / "ui.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ended = kernelindex("ui", "--home", home.directory)
    assert ended.code == 1
    assert f"another `kernelindex ui` is open on {home.directory}" in ended.complaint


@pytest.mark.ui
def test_one_that_a_script_started_ends_when_it_is_told_to(home: Home) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    ignoring_interrupts = ["sh", "-c", 'trap "" INT; exec "$@"', "sh"]
    command = [sys.executable, "-m", "pipelines.cli", "ui", "--home", str(home.directory), "--port", port]
    with subprocess.Popen([*ignoring_interrupts, *command], start_new_session=True) as ui:
        try:
            wait_until(lambda: answers(port), "the webserver answers")
            ui.terminate()
            assert ui.wait(timeout=60) == 0
            assert not answers(port)
        finally:
            if ui.poll() is None:
                os.killpg(ui.pid, signal.SIGKILL)


def answers(port: str) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/server_info", timeout=5).is_success
    except httpx.HTTPError:
        return False
