"""The asset checks: what must hold before a warehouse is published, and what people should look at.

Each check is a query, or a small function, that gives the rows that break it: none, where all is well. The
blocking ones keep a wrong warehouse from being published: the one published last stays.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, groupby
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from assets.leaderboard.assets import kernels
from assets.leaderboard.kernel_pages import kernel_listing
from assets.leaderboard.snapshots import digest_of
from assets.manifests.case_runs import COLLECTED
from assets.manifests.identity import canonical_json
from assets.manifests.kernel_manifests import is_made
from assets.rankings.accounting import unaccounted
from assets.rankings.policy import Candidate, places
from assets.rankings.tables import TABLES as RANKING_TABLES
from pipelines.damage import damage_to
from pipelines.names import asset_key
from pipelines.private_names import CHECK_TARGET, there_are
from pipelines.resources import Pipeline
from pipelines.table_assets import preview
from warehouse.build import code_digest, quoted
from warehouse.files import written_aside
from warehouse.home import Home
from warehouse.parquet import add_view
from warehouse.parts import parts_version, read_part
from warehouse.tables import (
    DIGESTS,
    ENTRIES_SET_ASIDE,
    PAGES,
    QUARANTINE,
    SAVED_PAGES,
    SOURCE_SUBMISSIONS,
    SUBMISSION_HISTORY,
    TABLES,
    Table,
)


@dataclass(frozen=True)
class Check:
    """One check: of which table, what must hold, and what gives the rows that break it."""

    table: str
    name: str
    holds: str
    broken: str | Callable[[duckdb.DuckDBPyConnection, Home], pa.Table]
    blocking: bool = True

    def spec(self) -> dg.AssetCheckSpec:
        """The check as Dagster knows it."""
        return dg.AssetCheckSpec(
            self.name, asset=asset_key(self.table), description=self.holds, blocking=self.blocking
        )

    def result(self, tables: duckdb.DuckDBPyConnection, home: Home) -> dg.AssetCheckResult:
        """Look, and name the rows that break it."""
        rows = (
            tables.sql(self.broken).to_arrow_table()
            if isinstance(self.broken, str)
            else self.broken(tables, home)
        )
        return dg.AssetCheckResult(
            asset_key=asset_key(self.table),
            check_name=self.name,
            passed=rows.num_rows == 0,
            severity=dg.AssetCheckSeverity.ERROR if self.blocking else dg.AssetCheckSeverity.WARN,
            metadata={"broken": rows.num_rows, "rows": preview(rows)},
        )


def opened_tables(home: Home, tables: Iterable[Table] = TABLES.values()) -> duckdb.DuckDBPyConnection:
    """A connection in which these tables stand under their names, and those published last in `published`."""
    connection = duckdb.connect()
    for table in tables:
        add_view(connection, home, table)
    if home.warehouse.exists():
        # A damaged one is nothing to compare with; it is about to be built anew.
        with suppress(duckdb.Error):
            connection.execute(f"attach {quoted(str(home.warehouse))} as published (read_only)")
    return connection


REFERENCES = {
    "workloads": ["operations"],
    "implementations": ["operations", "projects"],
    "runs": ["operations", "workloads", "implementations", "protocols", "environments"],
    "comparison_groups": ["operations", "workloads", "protocols", "environments"],
    "rankings": ["runs"],
    "record_events": ["runs"],
    "exclusions": ["runs"],
}


def unresolved(*tables: str) -> str:
    """The query for references of these tables that lead nowhere."""
    return " union all ".join(
        f"select '{table}' as 'table', '{DIGESTS[other]}' as reference, {DIGESTS[other]} as digest "
        f"from {table} anti join {other} using ({DIGESTS[other]})"
        for table in tables
        for other in REFERENCES[table]
    )


def new_since(tables: duckdb.DuckDBPyConnection, query: str) -> pa.Table | None:
    """What a query gives that compares with what was published last; None where nothing is to compare with.

    What this code published it had checked. So checks that take long look only at what is new since; and at
    all there is where nothing was published, where other code did it, or where it is damaged.
    """
    try:
        ((code,),) = tables.execute("select code_digest from published.warehouse_version").fetchall()
        return tables.sql(query).to_arrow_table() if code == code_digest() else None
    except duckdb.Error:
        return None


def wrong_digests(tables: duckdb.DuckDBPyConnection, home: Home) -> pa.Table:
    """The manifests whose digest is not that of their apiVersion, kind and spec."""
    wrong = []
    for table, column in DIGESTS.items():
        new = new_since(
            tables, f"select {column} from {table} anti join published.{table} using ({column}, manifest)"
        )
        only = "" if new is None else f"semi join new using ({column})"
        tables.execute(f"select {column}, manifest::varchar from {table} {only}")
        for digest, text in _fetched(tables):
            manifest = orjson.loads(text)
            del manifest["metadata"]
            if digest_of(canonical_json(manifest)) != digest:
                wrong.append({"table": table, "digest": digest})
    return pa.Table.from_pylist(wrong, pa.schema([("table", pa.string()), ("digest", pa.string())]))


_BEGUN = """
    (
        select
            submission_id,
            min(valid_from) as since,
            -- One that holds again after another kernel's is there twice, and need not stay so.
            count(distinct (kernel_id, page_digest, outcome)) as versions
        from {}submission_history
        group by submission_id
    )
"""
FEWER_VERSIONS = f"""
    select submission_id, before.versions as versions_published, now.versions
    from {_BEGUN.format("published.")} as before
    join {_BEGUN.format("")} as now using (submission_id, since)
    where now.versions < before.versions
    order by all
"""


def lost_submissions(tables: duckdb.DuckDBPyConnection, home: Home) -> pa.Table:
    """The submissions that the published warehouse has and these tables have not, or with fewer versions.

    Versions are counted only where the same code made both, and where the history begins when it did: whoever
    loses the record of a kernel's pages begins its history anew.
    """
    published = tables.sql("from duckdb_databases() where database_name = 'published'").fetchall()
    if published:
        with suppress(duckdb.IOException, duckdb.SerializationException):  # It is damaged.
            lost = tables.sql(
                "select submission_id, kernel_id, username from published.source_submissions "
                "anti join source_submissions using (submission_id) "
                "anti join submission_history using (submission_id)"
            ).to_arrow_table()
            fewer = new_since(tables, FEWER_VERSIONS)
            return lost if lost.num_rows or fewer is None else fewer
    return pa.table({"submission_id": pa.array([], pa.int64())})


# A row a run of a comparison group: what the policy looks at, and the place that it has.
PLACES = """
    with reviews as (
        select run_digest, list_sort(list(reason)) as reasons from {of}review where until is null group by all
    ),
    candidates as (
        select
            comparison_key, profile, run_digest, primary_value, evidence_level, observed_at, status, reasons
        from (select * exclude (evidence_level) from {of}runs)
        join {of}comparison_groups using (comparison_key)
        left join (select run_digest, evidence_level from {of}evidence) using (run_digest)
        left join reviews using (run_digest)
    ),
    ranked as (
        select comparison_key, run_digest, run_digest as ranked_run, rank, tied, display_order
        from {of}rankings
    )
    select * from candidates full join ranked using (comparison_key, run_digest)
"""


# Hashed twice: of a struct that is hashed once the last column counts for the whole group, not for its row.
_GROUPS = "(select comparison_key, count(*), bit_xor(hash(hash(place))) from ({}) as place group by all)"
OTHER_GROUPS = " except ".join(_GROUPS.format(PLACES.format(of=of)) for of in ("", "published."))


def other_ranks(tables: duckdb.DuckDBPyConnection, home: Home) -> pa.Table:
    """The places that the policy in Python does not give as the rankings have them, either way round."""
    groups = new_since(tables, OTHER_GROUPS)
    only = "" if groups is None else "semi join groups using (comparison_key)"
    tables.execute(f"from ({PLACES.format(of='')}) {only} order by comparison_key, run_digest")
    wrong = []
    for key, group in groupby(_fetched(tables), key=lambda row: row[0]):
        ranked, candidates, profile = {}, [], None
        for row in group:
            _, of_group, run, value, evidence, observed_at, status, reasons, ranked_run, *place = row
            if ranked_run:
                ranked[run] = place
            if of_group:
                profile = of_group
                candidates.append(
                    Candidate(
                        run_digest=run,
                        primary_value=value,
                        evidence_level=evidence,
                        observed_at=observed_at,
                        status=status,
                        review=frozenset(reasons or ()),
                    )
                )
        expected = {
            run: [place.rank, place.tied, place.display_order]
            for run, place in (places(candidates, profile) if profile else {}).items()
        }
        wrong += [
            {
                "comparison_key": key,
                "run_digest": run,
                "is": str(ranked.get(run)),
                "should_be": str(expected.get(run)),
            }
            for run in sorted(ranked.keys() | expected)
            if ranked.get(run) != expected.get(run)
        ]
    fields = ("comparison_key", "run_digest", "is", "should_be")
    return pa.Table.from_pylist(wrong, pa.schema([(name, pa.string()) for name in fields]))


def _fetched(result: duckdb.DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    """The rows of a result, of which only some are in memory at a time."""
    return chain.from_iterable(iter(lambda: result.fetchmany(10_000), []))


# What a version of a submission says, which its row in source_submissions says too while it holds.
_SAID = [
    column.name
    for column in SUBMISSION_HISTORY.columns
    if column.name in SOURCE_SUBMISSIONS.schema.names and column.name not in ("submission_id", "page_digest")
]
CONTRADICTIONS = f"""
with suite_runs as (
    select submission_id, run_digest
    from runs
    semi join (from workloads where kind = 'suite') using (workload_digest)
),
now as (
    select submission_id, ({", ".join(_SAID)}) as said, kernel_id, outcome, run_digest
    from source_submissions
    full join suite_runs using (submission_id)
),
held as (
    select submission_id, ({", ".join(_SAID)}) as said, kernel_id, run_digest, count(*) over same as versions
    from submission_history
    where valid_to is null
    window same as (partition by submission_id)
)
select
    coalesce(now.kernel_id, held.kernel_id) as kernel_id,
    submission_id,
    case
        when now.outcome is null and now.run_digest is not null
            then 'it has a run, but is not in source_submissions'
        when (now.outcome = 'run') <> (now.run_digest is not null)
            then 'its outcome in source_submissions, and whether it has a run, contradict each other'
        when held.submission_id is null then 'no version of it holds in submission_history'
        when now.submission_id is null then 'a version of it holds, but it is not in source_submissions'
        when versions > 1 then 'several versions of it hold in submission_history'
        else 'the version that holds says otherwise than source_submissions or runs'
    end as problem
from now
full join held using (submission_id)
where now.said is distinct from held.said
    or now.run_digest is distinct from held.run_digest
    or (now.outcome = 'run') <> (now.run_digest is not null)
    or versions > 1
order by all
"""


def contradictions(tables: duckdb.DuckDBPyConnection, home: Home) -> pa.Table:
    """The submissions of which tables say different things."""
    rows = tables.sql(CONTRADICTIONS).to_arrow_table()
    # What other code made may contradict itself until it is made anew, and that is not of this run.
    waiting = [
        row["kernel_id"]
        for row in (kernel_listing(home) if len(rows) else ())
        if home.part(row["kernel_key"], "manifests").exists() and not is_made(home, row["kernel_key"])
    ]
    return rows.filter(pc.invert(pc.is_in(rows["kernel_id"], pa.array(waiting, pa.int64()))))


def unaccounted_submissions(home: Home) -> pa.Table:
    """The submissions that are neither run nor no run nor in quarantine."""
    rows = unaccounted(home)
    # Other runs may fetch meanwhile. What came since the tables were collected, or is not normalised yet, is
    # not in them; who collects it will look again.
    if home.collected.exists() and home.collected.read_text() != parts_version(home):
        return rows.slice(0, 0)
    waiting = [key for key in pc.unique(rows["kernel_key"]).to_pylist() if not is_made(home, key)]
    return rows.filter(pc.invert(pc.is_in(rows["kernel_key"], pa.array(waiting, pa.string()))))


MANIFEST_CHECKS = [
    Check(
        "runs",
        "references_resolve",
        "Every digest that a workload, implementation or run refers to is there.",
        unresolved("workloads", "implementations", "runs"),
    ),
    Check(
        "runs",
        "digests_are_those_of_manifests",
        "Every manifest's digest, computed anew from what is stored, is the one that it is stored under; "
        "looks at those that this version did not publish before.",
        wrong_digests,
    ),
    Check(
        "pages",
        "every_row_has_its_page",
        "Every row that says which page it is from leads to a page that is on record.",
        " union all ".join(
            f"select '{table.name}' as 'table', page_digest, count(*) as 'rows' "
            f"from {table.name} anti join pages using (page_digest) "
            "anti join saved_pages using (page_digest) group by all"
            for table in COLLECTED
            if table not in (PAGES, SAVED_PAGES) and "page_digest" in table.schema.names
        ),
    ),
    Check(
        "source_submissions",
        "one_run_a_submission",
        "A submission is of one kernel, and has at most one run on its suite.",
        """
        select runs.external_id as submission_id, count(*) as runs
        from runs join workloads using (workload_digest)
        where kind = 'suite'
        group by runs.external_id
        having count(*) > 1
        """,
    ),
    Check(
        "source_submissions",
        "all_accounted_for",
        "Every submission that a kernel's pages list is a run, no run for a reason, or in quarantine.",
        lambda _, home: unaccounted_submissions(home),
    ),
    Check(
        "source_submissions",
        "none_lost",
        "Every submission that was published is still there, or its history says when it went; so are all "
        "versions of it; with accept_loss, a warning.",
        lost_submissions,
    ),
    Check(
        "submission_history",
        "tables_agree",
        "A submission is what the version of it that holds says, has a run if, and only if, its outcome is "
        "that, and the run is the version's.",
        contradictions,
    ),
    Check(
        "source_submissions",
        "source_arithmetic",
        "Latency times speedup is at least the geometric mean of the baselines, up to rounding (a tenth of "
        "a per cent): an average of ratios, of whatever kind, is no smaller than their geometric mean.",
        """
        with baselines as (
            select kernel_id, exp(avg(ln(baseline_latency_ms))) as baseline_ms
            from source_workloads
            group by kernel_id
            having bool_and(baseline_latency_ms > 0)
        )
        select submission_id, latency_ms * avg_speedup as latency_times_speedup_ms, baseline_ms
        from source_submissions join baselines using (kernel_id)
        where outcome = 'run' and latency_ms * avg_speedup < baseline_ms * 0.999
        """,
        blocking=False,
    ),
    Check(
        "source_kernels",
        "no_kernel_is_gone",
        "Every kernel that was ever listed still is. One that is gone stays ranked, marked by gone_since.",
        "select kernel_name, max(gone_since) as gone_since from source_kernels group by kernel_name "
        "having count(*) = count(gone_since)",
        blocking=False,
    ),
    Check(
        "source_kernels",
        "no_submission_is_missing",
        "Of every kernel the source gave as many submissions as it lists.",
        """
        select kernel_name, submission_count, submission_total, submissions_held, submissions_missing
        from source_kernels
        where submissions_missing > 0
        """,
        blocking=False,
    ),
    Check(
        "quarantine",
        "little_is_quarantined",
        "Nothing is quarantined; what is needs a look.",
        "select locator, item, problem, first_seen_at from quarantine",
        blocking=False,
    ),
    Check(
        "drift",
        "no_drift",
        "The source's fields are those that are known.",
        "from drift",
        blocking=False,
    ),
    Check(
        "page_disagreements",
        "saved_pages_agree",
        "What a saved submission page shows is what the API says of it, up to rounding.",
        "from page_disagreements",
        blocking=False,
    ),
    Check(
        "pages",
        "pages_are_fresh",
        "The newest page is not older than 10 days.",
        "select max(fetched_at) as newest_page from pages having newest_page < now() - interval 10 days",
        blocking=False,
    ),
]

RANKING_CHECKS = [
    Check(
        "rankings",
        "references_resolve",
        "Every run that is ranked, excluded or holds a record is there, and so is all of every group.",
        unresolved("comparison_groups", "rankings", "record_events", "exclusions"),
    ),
    Check(
        "comparison_groups",
        "no_group_mixes",
        "The runs of a group have one operation, workload, protocol, environment and correctness.",
        """
        select comparison_key, count(distinct (
            operation_digest, workload_digest, protocol_digest, environment_digest, correctness_key,
            primary_metric, primary_statistic, primary_unit
        )) as mixed
        from runs
        group by comparison_key
        having mixed > 1
        """,
    ),
    Check(
        "rankings",
        "ranked_or_excluded",
        "A run is either ranked or excluded, and never both.",
        """
        select run_digest, rank is not null as ranked, excluded
        from runs
        left join rankings using (run_digest)
        left join (select run_digest, true as excluded from exclusions group by all) using (run_digest)
        where (rank is not null) = coalesce(excluded, false)
        """,
    ),
    Check(
        "record_events",
        "tables_agree",
        "No ranked run that has a time is faster than the run that holds its group's record.",
        """
        with holders as (
            select comparison_key, arg_max(run_digest, event_number) as run_digest
            from record_events
            group by comparison_key
        ),
        ranked as (
            select comparison_key, min(primary_value) as least
            from rankings join runs using (comparison_key, run_digest)
            where observed_at is not null
            group by comparison_key
        )
        select comparison_key, run_digest, primary_value, least
        from ranked
        left join holders using (comparison_key)
        left join runs using (comparison_key, run_digest)
        where primary_value is distinct from least
        """,
    ),
    Check(
        "rankings",
        "ranks_are_reproduced",
        "The policy, read independently in Python, gives every run the same place; looks at groups in which "
        "something is new since this version published.",
        other_ranks,
    ),
    Check(
        "entries_set_aside",
        "all_entries_count",
        "Every decision and attestation by people counts; one that can't be applied now changes nothing, and "
        "somebody has to look at it.",
        "from entries_set_aside",
        blocking=False,
    ),
]


def _results(
    checks: Iterable[Check], home: Home, tables: Iterable[Table], made_of: Path, passed: Path
) -> list[dg.AssetCheckResult]:
    """The results of checks of these tables.

    Where all that block passed, `passed` holds the version that `made_of` names: a later run may publish it.
    """
    version = made_of.read_text() if made_of.exists() else ""
    with opened_tables(home, tables) as connection:
        results = [check.result(connection, home) for check in checks]
    if not all(result.passed or result.severity != dg.AssetCheckSeverity.ERROR for result in results):
        passed.unlink(missing_ok=True)
    # Else another run has made newer tables meanwhile: it checks those, or has already.
    elif not made_of.exists() or made_of.read_text() == version:
        with written_aside(passed) as aside:
            aside.write_text(version)
    return results


@dg.multi_asset_check(name="check_manifests", specs=[check.spec() for check in MANIFEST_CHECKS])
def check_manifests(pipeline: Pipeline) -> Iterator[dg.AssetCheckResult]:
    """What must hold before runs are ranked."""
    home = pipeline.kept()
    checks = MANIFEST_CHECKS
    if pipeline.settings().accept_loss:
        checks = [replace(check, blocking=check.blocking and check.name != "none_lost") for check in checks]
    # No others: those are still of the run before, and can be damaged.
    yield from _results(checks, home, COLLECTED, home.collected, home.checked("manifests"))


@dg.multi_asset_check(name="check_rankings", specs=[check.spec() for check in RANKING_CHECKS])
def check_rankings(pipeline: Pipeline) -> Iterator[dg.AssetCheckResult]:
    """What must hold before a warehouse is published."""
    home = pipeline.kept()
    tables = (*COLLECTED, *RANKING_TABLES, ENTRIES_SET_ASIDE)
    yield from _results(RANKING_CHECKS, home, tables, home.ranked, home.checked("rankings"))


@dg.asset_check(asset=asset_key("kernel_manifests"), partitions_def=kernels)
def kernel_is_readable(context: dg.AssetCheckExecutionContext, pipeline: Pipeline) -> dg.AssetCheckResult:
    """A kernel's pages, its definition and its workloads can all be read; else it has no new runs."""
    home = pipeline.kept()
    manifests = asset_key("kernel_manifests")
    # A result counts for the materialisation that it names, until there is a newer one.
    materialized = context.instance.get_latest_storage_id_by_partition(
        manifests, dg.DagsterEventType.ASSET_MATERIALIZATION
    )
    unreadable = 0
    of_home = {row["kernel_key"] for row in kernel_listing(home)}
    for key in filter(of_home.__contains__, context.op_execution_context.partition_keys):
        rows = unreadable_items(home, key)
        unreadable += rows.num_rows > 0
        # One result a kernel: the check's own is for all kernels of a run, and a backfill plans no other.
        context.op_execution_context.log_event(
            dg.AssetCheckEvaluation(  # type: ignore[arg-type]  # It is taken, though not annotated.
                asset_key=manifests,
                check_name="kernel_is_readable",
                partition=key,
                target_materialization_data=_target(context, materialized.get(key)),
                passed=rows.num_rows == 0,
                metadata={"broken": rows.num_rows, "rows": preview(rows)},
            )
        )
    return dg.AssetCheckResult(passed=unreadable == 0, metadata={"kernels": unreadable})


def _target(context: dg.AssetCheckExecutionContext, storage_id: int | None) -> Any:
    """The materialisation that a result is of, as Dagster names it."""
    if storage_id is None or not there_are(CHECK_TARGET, "a check of a kernel is of no materialisation"):
        return None
    from dagster._core.definitions.asset_checks.asset_check_evaluation import (
        AssetCheckEvaluationTargetMaterializationData,
    )

    return AssetCheckEvaluationTargetMaterializationData(
        storage_id=storage_id, run_id=context.op_execution_context.run_id, timestamp=time.time()
    )


@dg.multi_asset_check(
    name="check_fetching",
    specs=[
        dg.AssetCheckSpec(
            "kernels_are_fetched",
            asset=asset_key("kernel_pages"),
            description="Every kernel that the run asked for was to be had. Else the run fails, and does all "
            "its other steps.",
        )
    ],
)
def check_fetching(context: dg.AssetCheckExecutionContext) -> Iterator[dg.AssetCheckResult]:
    """Fail the run where a kernel was not to be had: only then does Dagster show its partition as failed."""
    observations = context.instance.get_records_for_run(
        context.run.run_id, of_type=dg.DagsterEventType.ASSET_OBSERVATION
    ).records
    problems = [
        {"kernel": event.partition, "problem": event.metadata["happened"].value["problem"]}
        for record in observations
        if (event := record.asset_observation) and event.asset_key == asset_key("kernel_pages")
    ]
    rows = pa.Table.from_pylist(problems, pa.schema([("kernel", pa.string()), ("problem", pa.string())]))
    yield dg.AssetCheckResult(passed=not problems, metadata={"broken": len(problems), "rows": preview(rows)})
    if problems:
        first = problems[0]
        raise dg.Failure(f"{len(problems)} kernels were not fetched: {first['kernel']} ({first['problem']})")


@dg.asset_check(asset=asset_key("warehouse"))
def home_is_whole(pipeline: Pipeline) -> dg.AssetCheckResult:
    """No file of the home is damaged: no page, no part, no table, nor the warehouse. Else, what mends it."""
    home = pipeline.kept()
    damages = [
        {
            "file": str(damage.path.relative_to(home.directory)),
            "problem": damage.problem,
            "next_step": damage.next_step,
        }
        for damage in damage_to(home)
    ]
    fields = ("file", "problem", "next_step")
    rows = pa.Table.from_pylist(damages, pa.schema([(name, pa.string()) for name in fields]))
    return dg.AssetCheckResult(passed=not damages, metadata={"broken": len(damages), "rows": preview(rows)})


def unreadable_items(home: Home, key: str) -> pa.Table:
    """What is quarantined of a kernel, but for submissions and fields: each of those costs only itself."""
    path = home.part(key, "manifests")
    rows = read_part(path, "quarantine") if path.exists() else QUARANTINE.schema.empty_table()
    return rows.filter(pc.match_substring_regex(rows["item"], "^(page|kernel|workload)"))
