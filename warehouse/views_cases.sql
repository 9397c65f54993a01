-- Views for people, over the runs on single workload cases that saved pages give.
-- Those runs are published by a submission's page, rounded for display, and never meet the suites' runs.

create view case_leaderboard as
select
    operations.name as kernel,
    workloads.external_id as case_id,
    workloads.axes,
    protocols.version as stack,
    environments.product as gpu,
    rankings.rank,
    rankings.tied,
    projects.name as project,
    page_cases.submission_id,
    runs.latency_ms,
    run_intervals.low / 1e6 as least_latency_ms,
    run_intervals.high / 1e6 as most_latency_ms,
    page_cases.baseline_ms,
    page_cases.speedup,
    runs.sol_score,
    rankings.ratio_to_best,
    runs.observed_at,
    runs.run_digest,
    runs.comparison_key,
    rankings.display_order,
    rankings.policy,
    runs.page_digest
from page_cases
join runs using (run_digest)
join run_intervals using (run_digest)
join rankings using (run_digest, comparison_key)
join operations using (operation_digest)
join workloads on runs.workload_digest = workloads.workload_digest
join implementations using (implementation_digest)
join projects using (project_digest)
join protocols using (protocol_digest)
join environments using (environment_digest)
order by kernel, stack, gpu, case_id, rankings.display_order;

comment on view case_leaderboard is
'one row per ranked run on a single workload case, of the submissions whose pages were saved: latency as shown, and between which bounds rounding leaves it';
comment on column case_leaderboard.case_id is 'the case''s id at the source';
comment on column case_leaderboard.latency_ms is 'on the case, as shown, rounded; milliseconds';
comment on column case_leaderboard.least_latency_ms is 'what it can have been before rounding, at least; milliseconds';
comment on column case_leaderboard.most_latency_ms is 'what it can have been before rounding, at most; milliseconds';
comment on column case_leaderboard.sol_score is 'on the case, as shown, rounded';
comment on column case_leaderboard.page_digest is 'the saved page';

create view case_against_head as
with suite_ranks as (
    select external_id, rank as suite_rank
    from rankings
    join runs using (run_digest, comparison_key)
    semi join (from workloads where kind = 'suite') using (workload_digest)
),
-- Of a case that a kernel lists several times, each submission's best.
bests as (
    select *
    from case_leaderboard
    qualify row_number() over (
        partition by comparison_key, submission_id order by display_order
    ) = 1
),
submissions as (
    select
        kernel,
        stack,
        gpu,
        submission_id,
        any_value(project) as project,
        any_value(suite_rank) as suite_rank,
        exp(avg(ln(latency_ms))) as geomean_ms
    from bests
    left join suite_ranks on external_id = submission_id::varchar
    group by all
),
-- The head is the best of the suite's ranking whose page was saved.
heads as (
    select kernel, stack, gpu, submission_id, project, suite_rank
    from submissions
    qualify row_number() over (
        partition by kernel, stack, gpu order by suite_rank nulls last, geomean_ms, submission_id
    ) = 1
)
select
    kernel,
    stack,
    gpu,
    mine.case_id,
    mine.axes,
    mine.project,
    mine.submission_id,
    mine.latency_ms,
    heads.project as head_project,
    heads.submission_id as head_submission_id,
    heads.suite_rank as head_suite_rank,
    theirs.latency_ms as head_latency_ms,
    mine.latency_ms / theirs.latency_ms as ratio_to_head,
    case
        when mine.most_latency_ms < theirs.least_latency_ms then 'wins'
        when mine.least_latency_ms > theirs.most_latency_ms then 'loses'
        else 'too close to say'
    end as outcome,
    mine.run_digest,
    theirs.run_digest as head_run_digest,
    mine.comparison_key
from bests as mine
join heads using (kernel, stack, gpu)
join bests as theirs
    on theirs.comparison_key = mine.comparison_key and theirs.submission_id = heads.submission_id
where mine.submission_id <> heads.submission_id
order by kernel, stack, gpu, mine.submission_id, ratio_to_head;

comment on view case_against_head is
'one row per submission and workload case, beside the head: the submission of that kernel, stack and GPU that ranks best by its suite, of those whose pages were saved; too close to say is what rounding hides';
comment on column case_against_head.case_id is 'the case''s id at the source';
comment on column case_against_head.latency_ms is 'on the case, as shown, rounded; milliseconds';
comment on column case_against_head.head_project is 'the head''s account';
comment on column case_against_head.head_submission_id is 'the head''s submission';
comment on column case_against_head.head_suite_rank is 'the head''s rank by its suite; null: it has none';
comment on column case_against_head.head_latency_ms is 'the head''s latency on the case, as shown, rounded; milliseconds';
comment on column case_against_head.ratio_to_head is 'latency_ms over head_latency_ms: below 1 where the submission is faster';
comment on column case_against_head.outcome is 'wins, loses or too close to say';
comment on column case_against_head.head_run_digest is 'the head''s run on the case';
