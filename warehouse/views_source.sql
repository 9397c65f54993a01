-- Views of what the leaderboard says beside runs: why a submission is no run.

create view no_runs as
with problems as (
    select regexp_extract(item, '^submission ([0-9]+)', 1) as id, min(problem) as problem
    from quarantine
    where item like 'submission %'
    group by all
)
select
    source_kernels.kernel_name as kernel,
    evaluation_stack_version as stack,
    gpu_type,
    username as project,
    submission_id,
    outcome,
    case
        when outcome = 'DISQUALIFIED'
            then concat_ws(', by ', coalesce(disqualification_reason, 'no reason is given'), disqualification_source)
        when outcome = 'QUARANTINED' then problem
        when outcome = 'NOT_PUBLIC' then 'it is not public'
        when outcome = 'STATUS_PENDING_RESULT' then 'its result is held back'
        when error_log is not null then error_log
        when outcome = 'INCORRECT' then 'its results are not correct'
        when outcome = 'MISSING_PRIMARY_METRIC' then 'it has no latency above 0'
        when outcome like 'STATUS_%' then 'its status is ' || status
    end as why,
    disqualified_at,
    result_available_at,
    submitted_at,
    finished_at,
    kernel_id
from source_submissions
left join source_kernels using (kernel_id)
left join problems on problems.id = submission_id::varchar
-- What is not public has no name and no number here.
where outcome not in ('run', 'NOT_PUBLIC')
order by kernel, submission_id;

comment on view no_runs is 'one row per public submission that is no run, and why';
comment on column no_runs.outcome is 'the reason code';
comment on column no_runs.why is 'the reason in words: the source''s where it gives one, its error log, or what it lacks';
