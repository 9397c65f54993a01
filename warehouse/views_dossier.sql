-- All that a run's page shows, in one row a run. How it is worded is in `dossier.py`.
-- What a run has several of is collected by run before it is joined, so that all rows cost one pass.

create view run_dossier as
with heads as (
    select
        run_digest as head_run_digest,
        external_id as head_external_id,
        primary_value as head_value,
        projects.name as head_project
    from runs
    join implementations using (implementation_digest)
    join projects using (project_digest)
),
reasons_of as (
    select run_digest, list(reason order by reason) as reasons from exclusions group by run_digest
),
flags_of as (
    select
        run_digest,
        list({'flag': flag, 'observed_ms': observed_ms, 'bound_ms': bound_ms} order by flag) as flags
    from flags
    group by run_digest
),
decisions_of as (
    select
        decisions.run_digest,
        list(
            {
                'decision': decision,
                'decided_at': decided_at,
                'who': who,
                'why': why,
                'link': link,
                'by_run_digest': by_run_digest,
                'by_external_id': by_run.external_id
            }
            order by decided_at, decision
        ) as decisions
    from decisions
    left join runs as by_run on by_run.run_digest = by_run_digest
    group by decisions.run_digest
),
reviews_of as (
    select
        run_digest,
        list({'reason': reason, 'since': since, 'until': until} order by since, reason) as reviews
    from review
    group by run_digest
),
attestations_of as (
    select
        run_digest,
        list(
            {
                'kind': kind,
                'attested_at': attested_at,
                'who': who,
                'text': text,
                'confirms': confirms,
                'latency_ms': latency_ms,
                'link': link
            }
            order by attested_at, file, entry
        ) as attestations
    from attestations
    group by run_digest
),
records_of as (
    select
        run_digest,
        list(
            {
                'taken_at': taken_at,
                'cause': cause,
                'previous_run_digest': previous_run_digest,
                'lost_at': lost_at,
                'lost_to': lost_to
            }
            order by event_number
        ) as records
    from record_history
    group by run_digest
),
cases_of as (
    select
        submission_id,
        list(
            {
                'case_id': workloads.external_id,
                'workload': workload,
                'latency_ms': latency_ms,
                'baseline_ms': baseline_ms,
                'speedup': speedup,
                'sol_score': sol_score,
                'run_digest': run_digest
            }
            order by position
        ) as cases
    from page_cases
    left join workloads using (workload_digest)
    group by submission_id
),
fetches as (
    select
        page_digest,
        arg_max(locator, fetched_at) as page_locator,
        min(fetched_at) as published_at,
        max(fetched_at) as fetched_at
    from pages
    group by page_digest
),
saved as (
    select page_digest, locator as page_locator, saved_at as published_at, saved_at as fetched_at
    from saved_pages
)
select
    runs.run_digest,
    runs.external_id,
    runs.submission_id,
    operations.name as kernel,
    operations.kernel_id,
    operations.family,
    titles.title,
    operations.tags,
    projects.name as project,
    implementations.revision,
    protocols.version as stack,
    environments.product as gpu,
    environments.architecture,
    runs.status,
    runs.observed_at,
    runs.primary_metric,
    runs.primary_statistic,
    runs.primary_unit,
    runs.primary_value,
    run_intervals.low as least_value,
    run_intervals.high as most_value,
    runs.sol_score,
    runs.latency_ms,
    runs.avg_speedup,
    runs.fast_1_count,
    runs.fast_1_total,
    runs.worker,
    kernel_bounds.sol_geomean_ms as sol_bound_ms,
    kernel_bounds.baseline_geomean_ms as baseline_ms,
    runs.latency_ms / kernel_bounds.sol_geomean_ms as ratio_to_bound,
    gap_closed(runs.latency_ms, kernel_bounds.baseline_geomean_ms, kernel_bounds.sol_geomean_ms)
        as share_of_gap_closed,
    rankings.rank,
    rankings.tied,
    rankings.source_rank,
    rankings.ratio_to_best,
    rankings.policy,
    comparison_groups.profile,
    comparison_groups.run_count,
    comparison_groups.eligible_count,
    comparison_groups.head_run_digest,
    head_external_id,
    head_value,
    head_project,
    evidence.evidence_level,
    evidence.confirming_reruns,
    evidence.controlled_reruns,
    evidence.replications,
    evidence.notes,
    coalesce(reasons, []) as reasons,
    coalesce(flags_of.flags, []) as flags,
    coalesce(decisions_of.decisions, []) as decisions,
    coalesce(reviews, []) as reviews,
    coalesce(attestations_of.attestations, []) as attestations,
    coalesce(records_of.records, []) as records,
    coalesce(cases, []) as cases,
    workloads.kind as workload_kind,
    workloads.case_count,
    workloads.external_id as case_id,
    workloads.axes as case_axes,
    runs.page_digest,
    coalesce(fetches.page_locator, saved.page_locator) as page_locator,
    coalesce(fetches.published_at, saved.published_at) as published_at,
    coalesce(fetches.fetched_at, saved.fetched_at) as fetched_at,
    runs.comparison_key,
    runs.operation_digest,
    runs.workload_digest,
    implementations.project_digest,
    runs.implementation_digest,
    runs.protocol_digest,
    runs.environment_digest,
    runs.correctness_key,
    runs.manifest,
    workloads.manifest as workload_manifest,
    protocols.manifest as protocol_manifest,
    environments.manifest as environment_manifest
from runs
join operations using (operation_digest)
join workloads using (workload_digest)
join implementations using (implementation_digest)
join projects using (project_digest)
join protocols using (protocol_digest)
join environments using (environment_digest)
join comparison_groups using (comparison_key)
join evidence using (run_digest)
left join (select kernel_id, title from source_kernels) as titles using (kernel_id)
-- Means over a suite say nothing of one case.
left join kernel_bounds on kernel_bounds.kernel_id = operations.kernel_id and workloads.kind = 'suite'
left join rankings using (comparison_key, run_digest)
left join run_intervals using (run_digest)
left join heads using (head_run_digest)
left join reasons_of using (run_digest)
left join flags_of using (run_digest)
left join decisions_of using (run_digest)
left join reviews_of using (run_digest)
left join attestations_of using (run_digest)
left join records_of using (run_digest)
left join cases_of on cases_of.submission_id = runs.submission_id and workloads.kind = 'suite'
left join fetches using (page_digest)
left join saved using (page_digest);

comment on view run_dossier is
'one row per run: all that its page shows. What it has several of is a list; times in lists are UTC';
comment on column run_dossier.least_value is 'of a value that was rounded for display: what it was at least, in primary_unit';
comment on column run_dossier.most_value is 'of a value that was rounded for display: what it was at most, in primary_unit';
comment on column run_dossier.sol_bound_ms is 'geometric mean of the workloads'' speed-of-light bounds, milliseconds; null: one is missing, or the run is on a single case';
comment on column run_dossier.baseline_ms is 'geometric mean of the workloads'' scoring baselines, milliseconds; null: one is missing, or the run is on a single case';
comment on column run_dossier.rank is 'place in the comparison group, dense: 1, 2, 2, 3; null: not ranked, see reasons';
comment on column run_dossier.head_external_id is 'external_id of the head: the run of the group that is shown first';
comment on column run_dossier.head_value is 'primary_value of the head';
comment on column run_dossier.head_project is 'the account that submitted the head';
comment on column run_dossier.evidence_level is 'replicated, verified, reproducible or reported';
comment on column run_dossier.reasons is 'why the run is not ranked; empty where it is';
comment on column run_dossier.flags is 'what is not plausible of it, with what was observed and the bound that it is below, milliseconds';
comment on column run_dossier.decisions is 'what people decided upon it, in order of time';
comment on column run_dossier.reviews is 'from when to when people, or a flag that waits for them, kept it from being ranked';
comment on column run_dossier.attestations is 'what people say of it, in order of time';
comment on column run_dossier.records is 'when it took its group''s record, and when it lost it, to whom; lost_at is null where it stands';
comment on column run_dossier.cases is 'what a saved page of the submission shows of each workload, as shown, rounded; empty where none was saved, and of runs on cases';
comment on column run_dossier.workload_kind is 'case or suite';
comment on column run_dossier.case_id is 'of a run on a case: the case''s id at the source';
comment on column run_dossier.case_axes is 'of a run on a case: the case''s axes';
comment on column run_dossier.page_locator is 'the page that says so: as the API names it or, of a saved page, its file';
comment on column run_dossier.published_at is 'when the page that says so came first, UTC';
comment on column run_dossier.fetched_at is 'when the page that says so came, or was confirmed, last, UTC';
comment on column run_dossier.workload_manifest is 'the whole WorkloadSuite or WorkloadCase manifest, canonical JSON';
comment on column run_dossier.protocol_manifest is 'the whole BenchmarkProtocol manifest, canonical JSON';
comment on column run_dossier.environment_manifest is 'the whole ExecutionEnvironment manifest, canonical JSON';
