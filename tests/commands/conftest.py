"""A home that the commands are asked about, with something of everything that a run can have."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from assets.rankings.tables import rank_tables
from pipelines.cli import app
from tests.commands.asking import (
    FLAGGED,
    FUSED_VISION,
    GQA_BACKWARD,
    HOSTILE,
    NO_RUN,
    OF_HOSTILE_NAME,
    RETRACTED,
    Ended,
    Kernelindex,
)
from tests.examples import AUDIO_ENCODER, RMSNORM, Kernel, recorded
from tests.inbox.pages import flux, page, prepared, published, read
from warehouse.build import build_warehouse
from warehouse.home import Home
from warehouse.parquet import read_table, rows_of, table_of, write_table
from warehouse.tables import ATTESTATIONS, DECISIONS, RUNS, TABLES


def rmsnorm() -> Kernel:
    """The kernel, with an account of a hostile name, a run too fast to be true, and a wrong submission."""
    kernel = recorded(RMSNORM)
    hostile, flagged, _ = kernel.submissions
    kernel.submissions.append(hostile | {"id": NO_RUN, "is_correct": False})
    hostile |= {"id": OF_HOSTILE_NAME, "username": HOSTILE}
    flagged |= {"id": FLAGGED, "latency_ms": 0.000012}
    return kernel


def judge(home: Home) -> None:
    """Let a person retract a run, and others say something of it."""
    (run,) = [run for run in rows_of(read_table(home, RUNS)) if run["external_id"] == str(RETRACTED)]
    of_run = {"external_id": run["external_id"], "run_digest": run["run_digest"]}
    moment = datetime(2026, 9, 1, tzinfo=UTC)
    said = {"who": "Ada Lovelace", "link": "https://example.org/1"}
    decision = {**of_run, **said, "decision": "retract", "decided_at": moment, "why": "It reads the answer."}
    attestation = {**of_run, **said, "file": "a.yaml", "attested_at": moment}
    replication = {"entry": 1, "kind": "replication", "confirms": False, "latency_ms": 1.2}
    note = {"entry": 2, "kind": "note", "text": "Not on my\x1b[31m machine."}
    write_table(home, DECISIONS, table_of([decision], DECISIONS.schema))
    write_table(
        home,
        ATTESTATIONS,
        table_of([attestation | replication, attestation | note], ATTESTATIONS.schema),
    )
    for name, rows in rank_tables(home).items():
        write_table(home, TABLES[name], rows)
    build_warehouse(home)


@pytest.fixture(scope="session")
def asked_home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home with a warehouse of five kernels, to read only."""
    home = prepared(
        Home(tmp_path_factory.mktemp("asked")),
        flux(),
        rmsnorm(),
        *map(recorded, (AUDIO_ENCODER, FUSED_VISION, GQA_BACKWARD)),
    )
    read(home, page().html())
    published(home)
    judge(home)
    return home


@pytest.fixture
def kernelindex(asked_home: Home, monkeypatch: pytest.MonkeyPatch) -> Kernelindex:
    """The command, asked of that home; of another one where the environment says so."""
    monkeypatch.setenv("KERNELINDEX_HOME", str(asked_home.directory))
    monkeypatch.delenv("COLUMNS", raising=False)

    def invoke(*arguments: str | Path, **given: Any) -> Ended:
        result = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False, **given)
        return Ended(result.exit_code, result.stdout_bytes, result.stderr)

    return invoke
