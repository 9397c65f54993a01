"""One `kernelindex ingest`, as a person runs it, measured from outside: time, memory, what Dagster did."""

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import dagster as dg

from pipelines.instance import open_instance
from warehouse.home import Home


@dataclass(frozen=True)
class Ingest:
    """What a run came to.

    `cpu_s` is of all its processes; `peak_mb` what they had in memory together, seen ten times a second.
    `steps_s` are Dagster's steps, in order; `events` all that it recorded of the run.
    """

    wall_s: float
    cpu_s: float
    peak_mb: float
    steps_s: dict[str, float]
    events: int


def measure(source: Path, home: Path) -> Ingest:
    """Ingest a directory of saved answers into a home. Raises RuntimeError where that fails."""
    command = [sys.executable, "-m", "pipelines.cli", "ingest", "--source", str(source), "--home", str(home)]
    begun, peak_mb = time.perf_counter(), 0.0
    with (home.parent / "output.txt").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
        while (waited := os.wait4(process.pid, os.WNOHANG))[0] == 0:
            peak_mb = max(peak_mb, _memory_mb(process.pid))
            time.sleep(0.1)
    wall_s = time.perf_counter() - begun
    _, process.returncode, used = waited
    if process.returncode:
        raise RuntimeError(f"the ingest failed: {(home.parent / 'output.txt').read_text()[-2000:]}")
    with open_instance(Home(home)) as instance:
        (run,) = instance.get_run_records(limit=1)
        return Ingest(
            wall_s,
            used.ru_utime + used.ru_stime,
            peak_mb,
            _steps(instance, run.dagster_run.run_id),
            len(instance.all_logs(run.dagster_run.run_id)),
        )


def _steps(instance: dg.DagsterInstance, run_id: str) -> dict[str, float]:
    steps = [step for step in instance.get_run_step_stats(run_id) if step.start_time and step.end_time]
    steps.sort(key=lambda step: step.start_time or 0)
    return {step.step_key: (step.end_time or 0) - (step.start_time or 0) for step in steps}


def _memory_mb(pid: int) -> float:
    """The memory of a process and its children; what they share is counted once."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return 0.0  # It has just ended.
    own = sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return own / 1024 + sum(_memory_mb(int(child)) for child in children)
