"""The catalog: KernelIndex's layout, its tables and fields, and nothing that it would misread."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import pytest

import warehouse
from tests.exports.exported import catalog_lines, digest_of_manifest
from warehouse.exports import export
from warehouse.home import Home

# As in KernelIndex's repository: see catalog.sql.
FIELDS = {
    "sources": "id slug kind name policy createdAt",
    "projects": "id slug name normalizedName canonicalUrl licenseExpression kind manifest createdAt",
    "operations": "id slug family name schemaVersion semanticDigest manifest tags createdAt supersedesId",
    "operation_aliases": "operationId alias",
    "workloads": (
        "id operationId workloadDigest schemaVersion manifest shapeSummary dtypes layoutKeys createdAt"
    ),
    "implementations": (
        "id projectId operationId slug implementationDigest sourceRevision language framework "
        "targetArchitectures licenseExpression sourceAvailable installable title installKind installCommand "
        "licenseDeclared role manifest createdAt supersedesId"
    ),
    "benchmark_runs": (
        "id runDigest implementationId workloadId sourceId status observedAt publishedAt hardwareVendor "
        "hardwareModel hardwareArchitecture driverMajor cudaMajor protocolKey environmentKey correctnessKey "
        "comparisonKey primaryMetric primaryValue primaryUnit sampleCount uncertaintyLow uncertaintyHigh "
        "reported reproducedByKernelindex independentReplicationCount sourceAvailable installable "
        "licenseExpression primaryStatistic hasRawEvidence sourceNative environmentSummary solScore "
        "packageVersion manifest supersedesId retractedAt retractionReason"
    ),
    "measurements": "id runId metric statistic unit value sampleCount",
    "record_events": "id comparisonKey runId previousRunId policyVersion cause at createdAt",
}


@pytest.fixture(scope="module")
def catalog(published_home: Home, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("catalog") / "export"
    export(directory, "catalog", home=published_home.directory)
    return directory


@pytest.fixture(scope="module")
def rows(catalog: Path) -> dict[str, list[dict[str, Any]]]:
    """The rows of each table, in the order of their lines."""
    tables: dict[str, list[dict[str, Any]]] = {}
    for line in catalog_lines(catalog):
        tables.setdefault(line["table"], []).append(line["row"])
    return tables


def test_each_line_is_a_table_and_a_row_with_kernelindexs_fields(catalog: Path) -> None:
    lines = catalog_lines(catalog)
    assert {tuple(line) for line in lines} == {("table", "row")}
    fields = {line["table"]: " ".join(line["row"]) for line in lines}
    assert fields == FIELDS
    assert list(fields) == list(FIELDS)
    for line in lines:
        assert " ".join(line["row"]) == FIELDS[line["table"]]


def test_latest_says_which_file_it_is(catalog: Path) -> None:
    latest = json.loads((catalog / "latest.json").read_text())
    file = catalog / latest["file"]
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    assert latest["sha256"] == digest
    assert file.name == f"catalog-{latest['generatedAt'][:10]}-{digest[:8]}.jsonl.zst"
    assert latest["sizeBytes"] == file.stat().st_size
    assert latest["lines"] == len(catalog_lines(catalog))


def test_digests_can_be_made_again_of_the_manifests(rows: dict[str, list[dict[str, Any]]]) -> None:
    digests = {
        "operations": "semanticDigest",
        "workloads": "workloadDigest",
        "implementations": "implementationDigest",
    }
    for table, digest in digests.items():
        for row in rows[table]:
            assert digest_of_manifest(row["manifest"]) == row[digest]
    for run in rows["benchmark_runs"]:
        manifests = run["manifest"]
        assert digest_of_manifest(manifests["run"]) == run["runDigest"]
        assert digest_of_manifest(manifests["protocol"]) == run["protocolKey"]
        assert digest_of_manifest(manifests["environment"]) == run["environmentKey"]


def test_ids_are_uuids_and_every_reference_leads_somewhere(rows: dict[str, list[dict[str, Any]]]) -> None:
    ids = {table: {row["id"] for row in listed} for table, listed in rows.items() if "id" in listed[0]}
    for table, known in ids.items():
        assert len(known) == len(rows[table])
        assert all(UUID(id_).version == 8 for id_ in known)
    references = [
        ("operation_aliases", "operationId", "operations"),
        ("workloads", "operationId", "operations"),
        ("implementations", "operationId", "operations"),
        ("implementations", "projectId", "projects"),
        ("benchmark_runs", "implementationId", "implementations"),
        ("benchmark_runs", "workloadId", "workloads"),
        ("benchmark_runs", "sourceId", "sources"),
        ("measurements", "runId", "benchmark_runs"),
        ("record_events", "runId", "benchmark_runs"),
        ("record_events", "previousRunId", "benchmark_runs"),
    ]
    for table, field, target in references:
        assert {row[field] for row in rows[table]} - {None} <= ids[target], (table, field)


def test_a_run_of_the_seeds_comes_as_kernelindex_shows_it(rows: dict[str, list[dict[str, Any]]]) -> None:
    (run,) = [
        row
        for row in rows["benchmark_runs"]
        if row["manifest"]["run"]["metadata"]["name"] == "sol-submission-3268"
    ]
    assert run["observedAt"] == "2026-05-20T22:22:23.696Z"
    assert (run["primaryMetric"], run["primaryStatistic"], run["primaryUnit"]) == ("latency", "mean", "ns")
    assert (run["primaryValue"], run["solScore"]) == (255422, 0.69736)
    assert (run["hardwareModel"], run["hardwareArchitecture"]) == ("NVIDIA B200", "sm_100")
    assert run["environmentSummary"] == "SOL-ExecBench evaluation stack"
    workload = next(row for row in rows["workloads"] if row["id"] == run["workloadId"])
    assert workload["shapeSummary"] == "suite of 16 cases"


def test_workloads_say_their_shape_types_and_layout(rows: dict[str, list[dict[str, Any]]]) -> None:
    for workload in rows["workloads"]:
        tensors = workload["manifest"]["spec"].get("tensors", {})
        assert workload["dtypes"] == sorted({tensor["dtype"] for tensor in tensors.values()})
        assert workload["layoutKeys"] == (["contiguous"] if tensors else [])
        if tensors:
            assert workload["shapeSummary"] in {str(tensor["shape"]) for tensor in tensors.values()}


def test_the_catalog_holds_every_ranked_run_with_its_measurement(
    published_home: Home, rows: dict[str, list[dict[str, Any]]]
) -> None:
    ranked = warehouse.table("rankings", published_home.directory)["run_digest"].to_pylist()
    assert {row["runDigest"] for row in rows["benchmark_runs"]} >= set(ranked)
    assert {row["runId"] for row in rows["measurements"]} == {row["id"] for row in rows["benchmark_runs"]}


def test_decisions_come_as_kernelindex_keeps_them(published_home: Home, tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.directory.mkdir()
    shutil.copy(published_home.warehouse, home.warehouse)
    with duckdb.connect(home.warehouse) as connection:
        listed = connection.execute("select run_digest from runs order by 1 limit 4").fetchall()
        retracted, superseded, better, held = (digest for (digest,) in listed)
        connection.execute(
            """
            insert into decisions by name
            select '1' as external_id, $1 as run_digest, 'retract' as decision, null as by_run_digest,
                '2026-08-20 12:00:00+00' as decided_at, 'Ada' as who, 'a bug' as why, '' as link
            union all select '2', $2, 'supersede', $3, '2026-08-21 12:00:00+00', 'Ada', 'a better one', ''
            """,
            [retracted, superseded, better],
        )
        connection.execute("insert into review values ($1, 'HELD_FOR_REVIEW', null, null)", [held])
    export(tmp_path / "catalog", "catalog", home=home.directory)
    lines = catalog_lines(tmp_path / "catalog")
    runs = {line["row"]["runDigest"]: line["row"] for line in lines if line["table"] == "benchmark_runs"}
    assert runs[retracted]["retractedAt"] == "2026-08-20T12:00:00.000Z"
    assert runs[retracted]["retractionReason"] == {"reason": "a bug", "actor": "Ada"}
    assert runs[better]["supersedesId"] == runs[superseded]["id"]
    # To KernelIndex whatever is published and not retracted ranks: what waits for review is not published.
    assert held not in runs
