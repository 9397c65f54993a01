-- Views for people, over the warehouse's tables. They say `case`, not `if`, which older DuckDBs would not find.

create view gone_kernels as
select kernel_name as kernel, max(gone_since) as gone_since
from source_kernels
group by kernel_name
-- One that came back under another id is not gone.
having count(*) = count(gone_since)
order by kernel;

comment on view gone_kernels is 'one row per kernel that the leaderboard lists no more; its runs stay ranked, and count';

create macro gap_closed(latency_ms, baseline_ms, bound_ms) as
    case when baseline_ms > bound_ms then (baseline_ms - latency_ms) / (baseline_ms - bound_ms) end;

comment on macro gap_closed is
'how far a latency came from a baseline (0) to a bound (1): below 0 it is slower than the baseline, above 1 faster than the bound; null where the baseline is not above the bound';

create view leaderboard as
select
    operations.name as kernel,
    operations.family,
    projects.name as project,
    protocols.version as stack,
    environments.product as gpu,
    rankings.rank,
    rankings.tied,
    rankings.source_rank,
    runs.sol_score,
    runs.latency_ms,
    runs.avg_speedup,
    rankings.ratio_to_best,
    kernel_bounds.sol_geomean_ms as sol_bound_ms,
    kernel_bounds.baseline_geomean_ms as baseline_ms,
    runs.latency_ms / kernel_bounds.sol_geomean_ms as ratio_to_bound,
    gap_closed(runs.latency_ms, kernel_bounds.baseline_geomean_ms, kernel_bounds.sol_geomean_ms)
        as share_of_gap_closed,
    runs.fast_1_count,
    runs.fast_1_total,
    runs.observed_at,
    runs.external_id,
    runs.submission_id,
    source_kernels.title,
    operations.tags,
    operations.kernel_id,
    gone_kernels.gone_since,
    rankings.run_digest,
    implementations.project_digest,
    rankings.comparison_key,
    rankings.display_order,
    rankings.policy
from rankings
join runs using (run_digest)
join operations using (operation_digest)
join implementations using (implementation_digest)
join projects using (project_digest)
join protocols using (protocol_digest)
join environments using (environment_digest)
left join source_kernels using (kernel_id)
left join kernel_bounds using (kernel_id)
left join gone_kernels on gone_kernels.kernel = operations.name
-- Runs on single cases, which saved pages give, stand in case_leaderboard.
anti join (from workloads where kind = 'case') using (workload_digest)
order by kernel, stack, gpu, rankings.display_order;

comment on view leaderboard is 'one row per ranked run, with all that a person wants to see of it';

create view open_flags as
select run_digest, list(flag order by flag) as flags
from flags
-- What people found to be right all the same is no warning any more.
anti join (from decisions where decision = 'accept') using (run_digest)
group by run_digest;

comment on view open_flags is
'one row per run that has flags which people have not accepted';
comment on column open_flags.flags is 'in what the run is not plausible, in order of the names';

create view named_groups as
select
    comparison_key,
    operations.name as kernel,
    operations.family,
    operations.tags,
    protocols.version as stack,
    environments.product as gpu,
    operations.kernel_id
from comparison_groups
join operations using (operation_digest)
join protocols using (protocol_digest)
join environments using (environment_digest)
-- Of single cases only some submissions' pages were saved: who leads there says nothing of standings.
anti join (from workloads where kind = 'case') using (workload_digest);

comment on view named_groups is
'one row per comparison group of suites, by the names that people know it by; those of single cases are in case_leaderboard';

create view stacks as
select
    stack,
    -- By the numbers in its name, so that v1.10 is newer than v1.9.
    row_number() over (
        order by try_cast(regexp_extract_all(stack, '[0-9]+') as double[]) desc nulls last, stack desc
    ) = 1 as is_newest,
    count(distinct kernel_id) as kernels,
    count(*) as groups,
    sum(run_count)::bigint as runs
from named_groups
join comparison_groups using (comparison_key)
group by stack
order by is_newest desc, stack desc;

comment on view stacks is 'one row per evaluation stack on which there are runs';
comment on column stacks.is_newest is 'whether its version is the highest: standings are of that stack';
comment on column stacks.kernels is 'kernels that have runs on it';
comment on column stacks.groups is 'comparison groups of suites';
comment on column stacks.runs is 'runs on suites, ranked or not';

create view kernel_stacks as
with submitted as (
    select kernel_id, evaluation_stack_version as stack, count(*) as submissions
    from source_submissions
    where outcome <> 'NOT_PUBLIC'
    group by all
),
measured as (
    select kernel_id, stack, sum(run_count)::bigint as runs, sum(eligible_count)::bigint as ranked_runs
    from named_groups
    join comparison_groups using (comparison_key)
    group by all
),
ranked as (
    select kernel_id, stack, count(distinct project_digest) as projects
    from rankings
    join named_groups using (comparison_key)
    join runs using (comparison_key, run_digest)
    join implementations using (implementation_digest)
    group by all
)
select
    source_kernels.kernel_name as kernel,
    source_kernels.title,
    operations.family,
    source_kernels.tags,
    -- Where no kernel has a run there is no stack to name, and each kernel stands once.
    stacks.stack,
    coalesce(stacks.is_newest, true) as is_newest,
    coalesce(submissions, 0) as submissions,
    coalesce(runs, 0) as runs,
    coalesce(ranked_runs, 0) as ranked_runs,
    coalesce(projects, 0) as projects,
    coalesce(ranked_runs, 0) = 0 and source_kernels.gone_since is null as is_open,
    kernel_bounds.sol_geomean_ms as sol_bound_ms,
    kernel_bounds.baseline_geomean_ms as baseline_ms,
    source_kernels.kernel_id
from source_kernels
left join (select stack, is_newest from stacks) as stacks on true
left join operations using (kernel_id)
left join kernel_bounds using (kernel_id)
left join submitted using (kernel_id, stack)
left join measured using (kernel_id, stack)
left join ranked using (kernel_id, stack)
order by kernel, is_newest desc, stack desc;

comment on view kernel_stacks is
'one row per kernel of the leaderboard and evaluation stack, also where nobody submitted anything yet';
comment on column kernel_stacks.stack is
'version of the evaluation stack, as v1.1; null: there are no runs yet, on any';
comment on column kernel_stacks.is_newest is 'whether the stack is the newest on which any kernel has runs';
comment on column kernel_stacks.family is
'kind of operation, as attention or moe; null: its definition could not be read, see quarantine';
comment on column kernel_stacks.submissions is 'public submissions, whatever became of them; 0: no submissions yet';
comment on column kernel_stacks.runs is 'runs on the suite, ranked or not';
comment on column kernel_stacks.ranked_runs is 'of these, those that are ranked';
comment on column kernel_stacks.projects is 'projects that have a ranked run';
comment on column kernel_stacks.is_open is 'whether the leaderboard lists it, and nobody is ranked there yet: the next run takes the record';

create macro rankings_as_of(moment) as table
with observed as (
    select
        runs.comparison_key,
        run_digest,
        workload_digest,
        project_digest,
        primary_value,
        sol_score,
        observed_at,
        list_position(
            ['replicated', 'verified', 'reproducible', 'reported'], evidence.evidence_level
        ) as evidence_order,
        status = 'passed' as passed
    from runs
    join evidence using (run_digest)
    left join implementations using (implementation_digest)
    left join (
        select page_digest, min(fetched_at) as known_at from pages group by page_digest
    ) using (page_digest)
    -- Of a run without a time it is only known that it was there when its page came.
    where coalesce(observed_at, known_at) <= moment::timestamptz
),
eligible as (
    from observed
    where passed
    and primary_value is not null
    and run_digest not in (
        select run_digest
        from review
        where (since is null or since <= moment::timestamptz)
        and (until is null or until > moment::timestamptz)
    )
),
users_bests as (
    select comparison_key, run_digest, sol_score
    from observed
    anti join (from workloads where kind = 'case') using (workload_digest)
    where passed and project_digest is not null and sol_score is not null
    qualify row_number() over (
        partition by comparison_key, project_digest
        order by sol_score desc, primary_value, observed_at, run_digest
    ) = 1
),
source_ranks as (
    select
        comparison_key,
        run_digest,
        rank() over (partition by comparison_key order by sol_score desc) as source_rank
    from users_bests
)
select
    comparison_key,
    run_digest,
    dense_rank() over (partition by comparison_key order by primary_value) as rank,
    count(*) over (partition by comparison_key, primary_value) > 1 as tied,
    row_number() over (
        partition by comparison_key
        order by primary_value, evidence_order, observed_at desc nulls last, run_digest
    ) as display_order,
    primary_value / nullif(min(primary_value) over (partition by comparison_key), 0) as ratio_to_best,
    source_rank,
    'ranking-v1' as policy
from eligible
left join source_ranks using (comparison_key, run_digest)
order by comparison_key, display_order;

comment on macro table rankings_as_of is
'the rankings as they stood at a moment, as rankings_as_of(''2026-08-01T00:00:00Z''): of the runs that are known today, those observed by then, without decisions dated later; groups that know intervals are ranked without them';

create view record_history as
with left_at as (
    select run_digest, min(since) as left_at from review group by run_digest
)
select
    kernel,
    stack,
    gpu,
    event_number,
    projects.name as project,
    external_id,
    submission_id,
    latency_ms,
    cause,
    taken_at,
    -- A record ends with the next one; or with its holder's standing, where nobody was left to take it.
    least(lead(taken_at) over in_order, left_at) as lost_at,
    case
        when lead(previous_run_digest) over in_order = run_digest then lead(projects.name) over in_order
    end as lost_to,
    (epoch(least(lead(taken_at) over in_order, left_at)) - epoch(taken_at)) / 86400 as days_held,
    run_digest,
    previous_run_digest,
    project_digest,
    comparison_key
from record_events
join named_groups using (comparison_key)
join runs using (run_digest, comparison_key)
join implementations using (implementation_digest)
join projects using (project_digest)
left join left_at using (run_digest)
window in_order as (partition by comparison_key order by event_number)
order by kernel, stack, gpu, event_number;

comment on view record_history is
'one row per record: who held it, from when until when, and who took it; lost_at is null where it stands, lost_to also where nobody took it';
comment on column record_history.run_digest is 'the run that took the record';

create view records as
select
    kernel,
    stack,
    gpu,
    project,
    external_id,
    submission_id,
    latency_ms,
    cause,
    taken_at as held_since,
    run_digest,
    project_digest,
    comparison_key
from record_history
where lost_at is null
order by kernel, stack, gpu;

comment on view records is 'one row per comparison group whose record somebody holds: who, and since when';
comment on column records.run_digest is 'the run that holds the record';

create view order_disagreement as
with in_both as (
    select comparison_key, rank, source_rank, display_order
    from rankings
    where source_rank is not null
),
pairs as (
    select
        comparison_key,
        sign(other.rank - one.rank) as by_rank,
        sign(other.source_rank - one.source_rank) as by_source_rank
    from in_both as one
    join in_both as other using (comparison_key)
    where one.display_order < other.display_order
),
counted as (
    select
        comparison_key,
        count(*) filter (by_rank * by_source_rank > 0) as concordant_pairs,
        count(*) filter (by_rank * by_source_rank < 0) as discordant_pairs,
        count(*) filter (by_rank <> 0) as untied_pairs,
        count(*) filter (by_source_rank <> 0) as untied_source_pairs
    from pairs
    group by comparison_key
)
select
    kernel,
    stack,
    gpu,
    runs_in_both,
    coalesce(concordant_pairs, 0) as concordant_pairs,
    coalesce(discordant_pairs, 0) as discordant_pairs,
    -- Tau-b, which allows for ties: 1 for the same order, -1 for the reverse; null where all is tied.
    (concordant_pairs - discordant_pairs)
        / nullif(sqrt(untied_pairs::double * untied_source_pairs), 0) as kendall_tau,
    comparison_key
from (select comparison_key, count(*) as runs_in_both from in_both group by comparison_key)
join named_groups using (comparison_key)
left join counted using (comparison_key)
order by discordant_pairs desc, kernel, stack, gpu;

comment on view order_disagreement is
'one row per comparison group: how far rank (by latency) and source_rank (by SOL score, each user''s best) disagree, over the runs that have both';
comment on column order_disagreement.runs_in_both is 'runs that have a rank and a source_rank';
comment on column order_disagreement.concordant_pairs is 'pairs of them that both orders put the same way round';
comment on column order_disagreement.discordant_pairs is 'pairs of them that the orders put opposite ways round';
comment on column order_disagreement.kendall_tau is 'tau-b: 1 for the same order, -1 for the reverse; null: all of them are tied';

create view project_groups as
with bests as (
    select
        project_digest,
        comparison_key,
        count(*) as runs,
        min(rank) as best_rank,
        count(min(rank)) over (partition by comparison_key) as ranked_projects,
        arg_min(external_id, display_order) as best_external_id,
        arg_min(latency_ms, display_order) as best_latency_ms
    from runs
    join implementations using (implementation_digest)
    left join rankings using (comparison_key, run_digest)
    group by project_digest, comparison_key
),
lately_lost as (
    select project_digest, comparison_key, count(*) as records_lost_lately
    from record_history
    where lost_to is distinct from project
    -- Lately is by the source's time, not by the clock: the 30 days up to the newest run.
    and epoch(lost_at) > (select epoch(max(observed_at)) from runs) - 30 * 86400
    group by project_digest, comparison_key
)
select
    projects.name as project,
    kernel,
    family,
    stack,
    gpu,
    runs,
    best_rank,
    ranked_projects - (best_rank is not null)::bigint as rivals,
    best_external_id,
    best_latency_ms,
    gap_closed(best_latency_ms, baseline_geomean_ms, sol_geomean_ms) as share_of_gap_closed,
    coalesce(holds_record, false) as holds_record,
    coalesce(records_lost_lately, 0) as records_lost_lately,
    project_digest,
    comparison_key
from bests
join projects using (project_digest)
join named_groups using (comparison_key)
left join kernel_bounds using (kernel_id)
left join (
    select comparison_key, project_digest, true as holds_record from records
) using (comparison_key, project_digest)
left join lately_lost using (comparison_key, project_digest);

comment on view project_groups is
'one row per project and comparison group: its best place there, and whether it holds the record; best_... is null where none of its runs is ranked';
comment on column project_groups.runs is 'runs of the project in the group, ranked or not';
comment on column project_groups.best_rank is 'of its best run';
comment on column project_groups.rivals is 'other projects that have a ranked run in the group; 0: it is uncontested';
comment on column project_groups.best_external_id is 'its best run: the submission''s id at the source';
comment on column project_groups.best_latency_ms is 'of its best run: geometric mean over the workloads, milliseconds';
comment on column project_groups.share_of_gap_closed is 'how far its best run came from the baselines'' geometric mean (0) to the bounds'' (1); null: a bound or baseline is missing';
comment on column project_groups.holds_record is 'whether one of its runs holds the group''s record now';
comment on column project_groups.records_lost_lately is 'records of the group that others took from it, in the 30 days up to the newest run';

create view all_standings as
select
    project,
    stack,
    family,
    count(best_rank) as groups,
    count(*) filter (best_rank = 1) as firsts,
    count(*) filter (best_rank = 1 and rivals > 0) as contested_firsts,
    count(*) filter (best_rank = 1 and rivals = 0) as uncontested_firsts,
    count(*) filter (best_rank <= 3) as podiums,
    median(best_rank) as median_rank,
    avg(share_of_gap_closed) as mean_share_of_gap_closed,
    count(*) filter (holds_record) as records_held,
    sum(records_lost_lately)::bigint as records_lost_lately,
    project_digest
from project_groups
-- Never over several stacks: what is measured on one says nothing of another.
group by grouping sets ((project, project_digest, stack), (project, project_digest, stack, family));

comment on view all_standings is
'one row per project and stack, over all families (family is null), and one per project, stack and family';
comment on column all_standings.family is 'family of operations; null: all of them together';

create view standings as
select * exclude family
from all_standings
where family is null and stack = (select stack from stacks where is_newest)
order by firsts desc, contested_firsts desc, podiums desc, groups desc, project, project_digest;

comment on view standings is
'one row per project that has a run on the newest stack, over all its comparison groups there, each by its best run: mean_share_of_gap_closed is of the way from the baselines'' geometric mean (0) to the bounds'' (1); records_lost_lately, to others, in the 30 days up to the newest run. Of other stacks see standings_by_stack';

create view standings_by_family as
from all_standings
where family is not null and stack = (select stack from stacks where is_newest)
order by family, firsts desc, contested_firsts desc, podiums desc, groups desc, project, project_digest;

comment on view standings_by_family is
'one row per project and family of operations, on the newest stack, as standings; of other stacks see all_standings';

create view standings_by_stack as
select * exclude family
from all_standings
where family is null
order by stack, firsts desc, contested_firsts desc, podiums desc, groups desc, project, project_digest;

comment on view standings_by_stack is 'one row per project and evaluation stack, as standings';
