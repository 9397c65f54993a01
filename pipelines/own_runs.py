"""Dagster runs that are this home's own: how they are known, which are under way, which are old.

A Dagster instance can be shared with other teams, and with other homes of this project. So every run bears
the home that it writes to as a tag, and only runs with that tag are looked at, waited for, ended or
deleted.
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg

HOME_TAG = "kernelindex/home"

UNDER_WAY = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
]
_ENDED = [dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED]


def home_tag(home: Path) -> dict[str, str]:
    """The tag that says which home a run writes to."""
    return {HOME_TAG: str(home.resolve())}


def under_way(
    instance: dg.DagsterInstance, home: Path, job_name: str | None = None, but: str | None = None
) -> str | None:
    """The id of a run of the home (of a job, or of any; not the run `but`) that has not ended, if any."""
    runs = instance.get_runs(
        dg.RunsFilter(job_name=job_name, tags=home_tag(home), statuses=UNDER_WAY), limit=2
    )
    return next((run.run_id for run in runs if run.run_id != but), None)


def old_runs(instance: dg.DagsterInstance, home: Path, days: int) -> list[str]:
    """The ids of the home's runs that ended more than so many days ago."""
    before = datetime.now(UTC) - timedelta(days=days)
    of_home = dg.RunsFilter(tags=home_tag(home), statuses=_ENDED, updated_before=before)
    return [run.run_id for run in instance.get_runs(of_home)]
