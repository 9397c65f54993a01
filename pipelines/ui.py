"""Dagster's UI and daemon on a home: opened once, on a port that is free, and ended as any process is."""

import fcntl
import os
import signal
import socket
import sys
from typing import NoReturn

from pipelines.instance import prepare_instance
from warehouse.home import Home

HOST = "127.0.0.1"


class NotOpened(Exception):
    """A UI that can't be opened; says why, and what to do."""


def become_ui(home: Home, port: int) -> NoReturn:
    """Go on as `dagster dev`, in this process.

    Raises NotOpened where one is open on this home already, or the port can't be listened on.
    """
    os.environ |= prepare_instance(home)
    lock = os.open(home.directory / "ui.lock", os.O_CREAT | os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise NotOpened(f"another `kernelindex ui` is open on {home.directory}: end that first") from None
    # Dagster holds it on, but not what Dagster starts.
    os.set_inheritable(lock, True)
    # Without its webserver Dagster would go on.
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError as problem:
            raise NotOpened(
                f"port {port} can't be used ({problem.strerror}): give another with --port"
            ) from problem
    # What a script starts with & ignores interrupts; Dagster then ignores SIGTERM too, and its children both.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    python = [sys.executable, "-W", "ignore:Function `dev_command` is superseded"]
    command = ["-m", "dagster", "dev", "--module-name", "pipelines.definitions"]
    os.execv(sys.executable, [*python, *command, "--host", HOST, "--port", str(port)])
