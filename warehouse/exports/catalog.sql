-- The tables of KernelIndex's catalog export, each as a view: a row an object, fields under KernelIndex's names.
-- Tables and fields are those of its public repository, github.com/SamMausberg/KernelIndex, under apps/web: of
-- scripts/export-catalog.ts (commit a40c272) and src/server/db/schema.ts (commit d4a8411). What this pipeline
-- doesn't know is null.

-- KernelIndex's ids are its database's own. Ours are UUIDs of version 8, made of digests: the same object has
-- the same id in every export.
create temp macro uuid_of(digest) as
    right(digest, 64)[1:8] || '-' || right(digest, 64)[9:12] || '-8' || right(digest, 64)[14:16]
    || '-a' || right(digest, 64)[18:20] || '-' || right(digest, 64)[21:32];

create temp macro instant(moment) as strftime(moment at time zone 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ');

create temp macro kebab(name) as trim(regexp_replace(lower(name), '[^a-z0-9]+', '-', 'g'), '-');

-- So the first table of each join streams through, in the order in which it is kept, and only the others, which
-- are small or narrow, are held in memory.
set disabled_optimizers = 'join_order,build_side_probe_side';

-- When something was first known: when the first page came that says so.
create temp view known as
select page_digest, min(fetched_at) as known_at from pages group by page_digest;

create temp view kernels_known as
select kernel_id, known_at from source_kernels join known using (page_digest);

-- KernelIndex exports what it has published, and ranks all of that: so runs that wait for a review, or were
-- rejected in one, stay out.
create temp view published as
select run_digest, known_at
from runs
left join known using (page_digest)
anti join (
    from review where until is null and reason in ('HELD_FOR_REVIEW', 'REJECTED')
) using (run_digest);

create temp view catalog_sources as
select
    uuid_of(sha256('sol-execbench')) as id,
    'sol-execbench' as slug,
    'leaderboard' as kind,
    'NVIDIA SOL-ExecBench' as name,
    null as policy,
    instant((select min(known_at) from known)) as createdAt;

create temp view catalog_projects as
select
    uuid_of(project_digest) as id,
    slug,
    name,
    lower(name) as normalizedName,
    null as canonicalUrl,
    null as licenseExpression,
    manifest ->> '$.spec.kind' as kind,
    manifest,
    instant(known_at) as createdAt
from projects
left join (
    select project_digest, min(known_at) as known_at
    from runs join known using (page_digest) join implementations using (implementation_digest)
    group by project_digest
) using (project_digest);

create temp view catalog_operations as
select
    uuid_of(operation_digest) as id,
    slug,
    family,
    coalesce(manifest ->> '$.metadata.title', slug) as name,
    manifest ->> '$.apiVersion' as schemaVersion,
    operation_digest as semanticDigest,
    manifest,
    [
        if(tag like 'model:%', 'model:' || kebab(tag[7:]), kebab(tag))
        for tag in tags if tag not in ('L1', 'L2', 'Quant', 'FlashInfer-Bench')
    ] as tags,
    instant(known_at) as createdAt,
    null as supersedesId
from operations
left join kernels_known using (kernel_id);

create temp view catalog_operation_aliases as
select uuid_of(operation_digest) as operationId, lower(name) as alias
from operations;

create temp view catalog_workloads as
with tensors as (
    select
        workload_digest,
        -- The operation's first input that has a shape is the one that sums the workload up.
        [
            input for input in operations.manifest ->> '$.spec.inputs[*].name'
            if list_contains(json_keys(workloads.manifest, '$.spec.tensors'), input)
        ][1] as first_tensor
    from workloads
    join operations using (operation_digest)
)
select
    uuid_of(workload_digest) as id,
    uuid_of(operation_digest) as operationId,
    workload_digest as workloadDigest,
    workloads.manifest ->> '$.apiVersion' as schemaVersion,
    workloads.manifest,
    if(
        workloads.kind = 'suite',
        'suite of ' || case_count || ' cases',
        coalesce(
            replace(json_extract(workloads.manifest, '$.spec.tensors."' || first_tensor || '".shape')::varchar, ',', ', '),
            '[]'
        )
    ) as shapeSummary,
    list_sort(list_distinct(workloads.manifest ->> '$.spec.tensors.*.dtype')) as dtypes,
    if(first_tensor is null, []::varchar[], ['contiguous']) as layoutKeys,
    instant(known_at) as createdAt
from workloads
join tensors using (workload_digest)
join operations using (operation_digest)
left join kernels_known using (kernel_id);

create temp view catalog_implementations as
select
    uuid_of(implementation_digest) as id,
    uuid_of(project_digest) as projectId,
    uuid_of(operation_digest) as operationId,
    implementations.manifest ->> '$.metadata.name' as slug,
    implementation_digest as implementationDigest,
    revision as sourceRevision,
    implementations.manifest ->> '$.spec.callable.language' as language,
    null as framework,
    implementations.manifest ->> '$.spec.support.hardwareArchitectures[*]' as targetArchitectures,
    null as licenseExpression,
    false as sourceAvailable,
    false as installable,
    implementations.manifest ->> '$.metadata.title' as title,
    null as installKind,
    null as installCommand,
    null as licenseDeclared,
    null as role,
    implementations.manifest,
    instant(known_at) as createdAt,
    null as supersedesId
from implementations
left join (
    select implementation_digest, min(known_at) as known_at
    from runs join known using (page_digest)
    group by implementation_digest
) using (implementation_digest);

create temp view catalog_benchmark_runs as
with supersessions as (
    select by_run_digest as run_digest, min(run_digest) as superseded
    from decisions
    where decision = 'supersede' and run_digest is not null
    group by by_run_digest
),
retractions as (
    select run_digest, min(decided_at) as retracted_at, arg_min({reason: why, actor: who}, decided_at) as reason
    from decisions
    where decision = 'retract'
    group by run_digest
)
select
    uuid_of(run_digest) as id,
    run_digest as runDigest,
    uuid_of(runs.implementation_digest) as implementationId,
    uuid_of(workload_digest) as workloadId,
    uuid_of(sha256('sol-execbench')) as sourceId,
    status,
    instant(observed_at) as observedAt,
    instant(known_at) as publishedAt,
    environments.manifest ->> '$.spec.hardware.vendor' as hardwareVendor,
    product as hardwareModel,
    architecture as hardwareArchitecture,
    null as driverMajor,
    null as cudaMajor,
    protocol_digest as protocolKey,
    environment_digest as environmentKey,
    correctness_key as correctnessKey,
    comparison_key as comparisonKey,
    primary_metric as primaryMetric,
    primary_value as primaryValue,
    primary_unit as primaryUnit,
    null as sampleCount,
    null as uncertaintyLow,
    null as uncertaintyHigh,
    true as reported,
    evidence.evidence_level in ('verified', 'replicated') as reproducedByKernelindex,
    if(evidence.evidence_level = 'replicated', confirming_reruns, 0) as independentReplicationCount,
    false as sourceAvailable,
    false as installable,
    null as licenseExpression,
    primary_statistic as primaryStatistic,
    false as hasRawEvidence,
    json_exists(runs.manifest, '$.spec.sourceNative') as sourceNative,
    harness as environmentSummary,
    sol_score as solScore,
    null as packageVersion,
    {run: runs.manifest, protocol: protocols.manifest, environment: environments.manifest} as manifest,
    uuid_of(superseded) as supersedesId,
    instant(retracted_at) as retractedAt,
    reason as retractionReason
from runs
join published using (run_digest)
join protocols using (protocol_digest)
join environments using (environment_digest)
left join evidence using (run_digest)
left join supersessions using (run_digest)
left join retractions using (run_digest);

create temp view catalog_measurements as
select
    uuid_of(sha256(run_digest || ' ' || primary_metric || ' ' || primary_statistic)) as id,
    uuid_of(run_digest) as runId,
    primary_metric as metric,
    primary_statistic as statistic,
    primary_unit as unit,
    primary_value as value,
    null as sampleCount
from runs
semi join published using (run_digest)
where primary_value is not null;

create temp view catalog_record_events as
select
    uuid_of(sha256(comparison_key || ' ' || event_number)) as id,
    comparison_key as comparisonKey,
    uuid_of(run_digest) as runId,
    uuid_of(previous.run_digest) as previousRunId,
    policy as policyVersion,
    cause,
    instant(taken_at) as "at",
    instant(published.known_at) as createdAt
from record_events
join published using (run_digest)
left join published as previous on previous.run_digest = record_events.previous_run_digest;
