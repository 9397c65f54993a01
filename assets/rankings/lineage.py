"""From which columns each column of this room's tables is made, for people who ask where a number comes from.

What is made how is decided in the SQL files; here it is only said. A column that is the same for all rows
(the policy), or that people wrote (a decision's reason), is made from no column.
"""

from warehouse.tables import (
    ATTESTATIONS,
    COMPARISON_GROUPS,
    DECISIONS,
    ENTRIES_SET_ASIDE,
    EVIDENCE,
    EXCLUSIONS,
    FLAGS,
    KERNEL_BOUNDS,
    RANKINGS,
    RECORD_EVENTS,
    REVIEW,
    RUN_PAGE_CHECKS,
    Table,
)

_BOUNDS = "source_workloads.sol_ms source_kernels.sol_is_dummy"
_BASELINES = "source_workloads.baseline_latency_ms"
_RANK = "runs.primary_value run_intervals.low run_intervals.high exclusions.run_digest"
_STANDS = "runs.status runs.primary_value runs.observed_at review.since review.until review.reason"

_ORIGINS: dict[Table, dict[str, str]] = {
    KERNEL_BOUNDS: {
        "kernel_id": "source_workloads.kernel_id",
        "least_sol_ms": _BOUNDS,
        "sol_geomean_ms": _BOUNDS,
        "least_baseline_ms": _BASELINES,
        "baseline_geomean_ms": _BASELINES,
    },
    FLAGS: {
        "run_digest": "runs.run_digest",
        "flag": "runs.latency_ms runs.avg_speedup kernel_bounds.least_sol_ms kernel_bounds.sol_geomean_ms "
        "kernel_bounds.least_baseline_ms kernel_bounds.baseline_geomean_ms",
        "observed_ms": "runs.latency_ms runs.avg_speedup",
        "bound_ms": "source_submissions.kernel_id kernel_bounds.least_sol_ms "
        "kernel_bounds.sol_geomean_ms kernel_bounds.baseline_geomean_ms",
    },
    DECISIONS: {
        "external_id": "runs.external_id source_submissions.submission_id",
        "run_digest": "runs.run_digest",
        "by_run_digest": "runs.run_digest",
    },
    REVIEW: {
        "run_digest": "flags.run_digest decisions.run_digest",
        "reason": "flags.flag decisions.decision",
        "since": "decisions.decided_at",
        "until": "decisions.decided_at",
    },
    ATTESTATIONS: {
        "external_id": "runs.external_id source_submissions.submission_id",
        "run_digest": "runs.run_digest",
    },
    EVIDENCE: {
        "run_digest": "runs.run_digest",
        "evidence_level": "runs.evidence_level attestations.kind attestations.confirms attestations.who",
        "confirming_reruns": "attestations.kind attestations.confirms attestations.who",
        "controlled_reruns": "attestations.kind",
        "replications": "attestations.kind",
        "notes": "attestations.kind",
    },
    EXCLUSIONS: {
        "run_digest": "runs.run_digest",
        "reason": "runs.status runs.primary_value review.reason review.until",
    },
    RANKINGS: {
        "comparison_key": "runs.comparison_key",
        "run_digest": "runs.run_digest",
        "rank": _RANK,
        "tied": _RANK,
        "display_order": f"{_RANK} evidence.evidence_level runs.observed_at runs.run_digest",
        "ratio_to_best": "runs.primary_value exclusions.run_digest",
        "source_rank": "runs.sol_score runs.status implementations.project_digest workloads.kind",
    },
    RECORD_EVENTS: {
        "comparison_key": "runs.comparison_key",
        "event_number": _STANDS,
        "run_digest": f"runs.run_digest {_STANDS}",
        "previous_run_digest": f"runs.run_digest {_STANDS}",
        "taken_at": "runs.observed_at review.since review.until",
        "cause": _STANDS,
    },
    COMPARISON_GROUPS: {
        "comparison_key": "runs.comparison_key",
        "operation_digest": "runs.operation_digest",
        "workload_digest": "runs.workload_digest",
        "protocol_digest": "runs.protocol_digest",
        "environment_digest": "runs.environment_digest",
        "correctness_key": "runs.correctness_key",
        "metric_key": "runs.primary_metric runs.primary_statistic runs.primary_unit",
        "profile": "runs.manifest",
        "run_count": "runs.run_digest",
        "eligible_count": "rankings.run_digest",
        "head_run_digest": "rankings.run_digest rankings.display_order",
    },
    ENTRIES_SET_ASIDE: {},
    RUN_PAGE_CHECKS: {"run_digest": "runs.run_digest"},
}


def origins(table: Table) -> dict[str, list[str]]:
    """For each column that is made from others those others, as `table.column`."""
    return {column: columns.split() for column, columns in _ORIGINS[table].items()}
