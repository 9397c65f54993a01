"""Rankings, and what people say of runs, as Dagster assets."""

from collections.abc import Iterator
from typing import Any

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from assets.leaderboard.snapshots import digest_of
from assets.rankings.attestations import ATTESTATIONS_DIRECTORY, read_attestations, resolve_attestations
from assets.rankings.decisions import DECISIONS_FILE, read_decisions, resolve_decisions
from assets.rankings.entries import EntryError, SetAside
from assets.rankings.lineage import origins
from assets.rankings.policy import POLICY
from assets.rankings.run_pages import COMPARED, check_run_pages
from assets.rankings.tables import DECIDED_ON, INPUTS, TABLES, opened, rank_tables
from pipelines.names import asset_key
from pipelines.pools import PUBLISHING, alone_in
from pipelines.progress import log
from pipelines.resources import Pipeline
from pipelines.table_assets import preview, table_result, table_spec
from warehouse.files import written_aside
from warehouse.parquet import table_of, write_table
from warehouse.tables import ATTESTATIONS, DECISIONS, ENTRIES_SET_ASIDE, RUN_PAGE_CHECKS, Table

GROUP = "rankings"


def _entries_spec(table: Table) -> dg.AssetSpec:
    # The files are versioned as code is: once one changes, all that follows from it is out of date.
    files = [DECISIONS_FILE, *sorted(ATTESTATIONS_DIRECTORY.glob("*.yaml"))]
    version = digest_of(b"".join(path.read_bytes() for path in files))
    spec = table_spec(table, [read.name for read in DECIDED_ON], GROUP, origins(table))
    return spec.replace_attributes(code_version=version)


@dg.multi_asset(
    specs=[_entries_spec(DECISIONS), _entries_spec(ATTESTATIONS), _entries_spec(ENTRIES_SET_ASIDE)],
    pool=PUBLISHING,
)
def decisions_and_attestations(
    context: dg.AssetExecutionContext, pipeline: Pipeline
) -> Iterator[dg.MaterializeResult[Any]]:
    """What people decided and attested, read from the repository, each with the run that it is about.

    An entry that can't count is set aside with its reason, and all others count.
    """
    home = pipeline.kept()
    with alone_in(PUBLISHING, context):
        log.info("reading decisions and attestations")
        try:
            decisions, wrong_decisions = read_decisions(DECISIONS_FILE)
        except EntryError as problem:
            raise dg.Failure(f"nothing was ranked: {problem}") from problem
        attestations, wrong_attestations = read_attestations(ATTESTATIONS_DIRECTORY)
        with opened(home, DECIDED_ON) as connection:
            decided, unapplied = resolve_decisions(connection, decisions)
            attested, unfounded = resolve_attestations(connection, attestations)
        set_aside = wrong_decisions | unapplied | wrong_attestations | unfounded
        for table, of_table in {
            DECISIONS: decided,
            ATTESTATIONS: attested,
            ENTRIES_SET_ASIDE: _rows_of(set_aside),
        }.items():
            yield table_result(home, table, write_table(home, table, of_table))


def _rows_of(set_aside: SetAside) -> pa.Table:
    for place, problem in set_aside.items():
        log.warning("%s was set aside: %s", place, problem)
    rows: list[dict[str, object]] = [
        {**place._asdict(), "problem": problem} for place, problem in sorted(set_aside.items())
    ]
    return table_of(rows, ENTRIES_SET_ASIDE.schema)


@dg.multi_asset(
    specs=[
        table_spec(table, [read.name for read in INPUTS], GROUP, origins(table)).replace_attributes(
            code_version=POLICY
        )
        for table in TABLES
    ],
    pool=PUBLISHING,
)
def ranking_tables(
    context: dg.AssetExecutionContext, pipeline: Pipeline
) -> Iterator[dg.MaterializeResult[Any]]:
    """Every run's place in its comparison group, by policy, and what follows from it."""
    home = pipeline.kept()
    with alone_in(PUBLISHING, context):
        log.info("ranking")
        rows = rank_tables(home)
        for table in TABLES:
            yield table_result(home, table, write_table(home, table, rows[table.name]))
        if home.collected.exists():
            with written_aside(home.ranked) as aside:
                aside.write_text(home.collected.read_text())


@dg.multi_asset(
    specs=[
        table_spec(
            RUN_PAGE_CHECKS,
            ["kernel_cases", *(table.name for table in COMPARED)],
            GROUP,
            origins(RUN_PAGE_CHECKS),
        )
    ],
    check_specs=[
        dg.AssetCheckSpec(
            "run_pages_agree",
            asset=asset_key(RUN_PAGE_CHECKS.name),
            description="Each fact on KernelIndex's run pages in the inbox is ours too, or explained.",
        )
    ],
    pool=PUBLISHING,
)
def run_page_checks(
    context: dg.AssetExecutionContext,
    pipeline: Pipeline,
) -> Iterator[dg.MaterializeResult[Any] | dg.AssetCheckResult]:
    """KernelIndex's run pages in the inbox, fact by fact: whether we agree."""
    home = pipeline.kept()
    with alone_in(PUBLISHING, context):
        log.info("verifying run pages")
        rows = check_run_pages(home)
        yield table_result(home, RUN_PAGE_CHECKS, write_table(home, RUN_PAGE_CHECKS, rows))
        differing = rows.filter(pc.equal(rows["verdict"], "differs"))
        yield dg.AssetCheckResult(
            asset_key=asset_key(RUN_PAGE_CHECKS.name),
            check_name="run_pages_agree",
            passed=differing.num_rows == 0,
            severity=dg.AssetCheckSeverity.WARN,
            metadata={"broken": differing.num_rows, "rows": preview(differing)},
        )
