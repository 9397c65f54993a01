"""What the ranking tests share: ranking runs of which only what matters is written down."""

from collections.abc import Callable, Iterable
from dataclasses import asdict, fields
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from assets.rankings import policy
from assets.rankings.policy import Candidate, Place, Profile
from assets.rankings.rank import INTERVALS, REVIEW, rank
from warehouse.tables import (
    COMPARISON_GROUPS,
    EXCLUSIONS,
    IMPLEMENTATIONS,
    RANKINGS,
    RECORD_EVENTS,
    RUNS,
)

Row = dict[str, Any]
RankRuns = Callable[[Iterable[Row]], dict[str, list[Row]]]
PlaceRuns = Callable[[Iterable[Candidate], Profile], dict[str, Place]]

ANY_RUN: Row = {
    "external_id": "3268",
    "operation_digest": "sha256:0c",
    "workload_digest": "sha256:3f",
    "protocol_digest": "sha256:29",
    "environment_digest": "sha256:52",
    "correctness_key": "sha256:d2",
    "comparison_key": "sha256:06",
    "status": "passed",
    "primary_metric": "latency",
    "primary_statistic": "mean",
    "primary_unit": "ns",
    "evidence_level": "reported",
    "page_digest": "sha256:aa",
    "user": "Isaac Sun (AES)",
    "profile": "source-native",
    "review": (),
    "there": True,
}
MANIFESTS = {
    "source-native": '{"kind":"BenchmarkRun","spec":{"sourceNative":{"source":"sol-execbench"}}}',
    "strict": '{"kind":"BenchmarkRun","spec":{"note":"\\"sourceNative\\":{"}}',
}


@pytest.fixture(scope="session")
def rank_runs() -> RankRuns:
    """Give a function that ranks runs and returns the four tables' rows, by the name of the table.

    A run is a row of `runs` of which only `run_digest` must be there, with these beside it: `user`,
    `profile` (that its manifest asks for), `review` (reasons), `low` and `high`. One that is not
    `there` has no row of its own: only what is said of it.
    """

    def rank_these(given: Iterable[Row]) -> dict[str, list[Row]]:
        runs = [ANY_RUN | {"implementation_digest": run["run_digest"]} | run for run in given]
        for run in runs:
            run |= {"manifest": MANIFESTS[run["profile"]], "project_digest": run["user"]}
        held = [run | {"reason": reason} for run in runs for reason in run["review"]]
        there = [run for run in runs if run["there"]]
        with duckdb.connect() as connection:
            connection.register("runs", tabled(there, RUNS.schema))
            connection.register("implementations", tabled(runs, IMPLEMENTATIONS.schema))
            rank(connection, review=tabled(held, REVIEW), intervals=tabled(runs, INTERVALS))
            made = {
                table.name: connection.table(table.name).to_arrow_table().cast(table.schema)
                for table in (COMPARISON_GROUPS, RANKINGS, EXCLUSIONS, RECORD_EVENTS)
            }
        return {name: table.to_pylist() for name, table in made.items()}

    return rank_these


@pytest.fixture(params=["in Python", "in SQL"])
def places(request: pytest.FixtureRequest, rank_runs: RankRuns) -> PlaceRuns:
    """Give the policy as a function, once as Python has it and once as SQL has it."""

    def places_in_sql(group: Iterable[Candidate], profile: Profile) -> dict[str, Place]:
        rankings = rank_runs(asdict(run) | {"profile": profile} for run in group)["rankings"]
        columns = [field.name for field in fields(Place)]
        return {row["run_digest"]: Place(*(row[name] for name in columns)) for row in rankings}

    return policy.places if request.param == "in Python" else places_in_sql


def tabled(rows: Iterable[Row], schema: pa.Schema) -> pa.Table:
    """Make a table of rows; what a row does not say is null, what the table has not is left out."""
    return pa.Table.from_pylist(list(rows), schema=schema)
