"""Bit-exact identity: the digests and manifests that KernelIndex published, from the same pages."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from assets.leaderboard.records import read_kernel_listing
from assets.leaderboard.sources import DirectorySource
from tests.examples import FIXTURES, Row, Tables, tables_of

# What the three run pages in the seeds show: submission, its digest, its comparison key (first digits).
SEEDS = [
    ("165", "sha256:5195388fd7c6a80d3089edc", "sha256:b5a07d877d4aa940"),
    ("3268", "sha256:1b9cb94ec711c4943cd8d77", "sha256:664cd4589a4c0d47"),
    ("26346", "sha256:381f22e4759e66ec6db9692", "sha256:68ecf1769b265bd2"),
]
seeds = pytest.mark.parametrize(
    ("submission", "digest", "comparison_key"), SEEDS, ids=[seed[0] for seed in SEEDS]
)


class Published(NamedTuple):
    """Digests as KernelIndex published them, and what we make of the same kernels."""

    golden: dict[str, Any]
    made: dict[str, Tables]


@pytest.fixture(scope="module")
def archived(archive: Path) -> dict[str, Tables]:
    """What is made of all 235 kernels."""
    source = DirectorySource(archive)
    (listing,) = source.kernel_listing()
    names, _ = read_kernel_listing(listing)
    return {name: tables_of(kernel_id, source.kernel(kernel_id)) for kernel_id, name in names.items()}


@pytest.fixture(scope="module", params=["sample", "archive"])
def published(request: pytest.FixtureRequest) -> Published:
    if request.param == "sample":
        return Published(request.getfixturevalue("golden"), request.getfixturevalue("sample"))
    archive: Path = request.getfixturevalue("archive")
    golden = json.loads((archive.parent / "golden" / "digests.json").read_text("utf-8"))
    archived: dict[str, Tables] = request.getfixturevalue("archived")
    return Published(golden, {name: archived[name] for name in golden["operations"]})


def workloads(tables: Tables, kind: str) -> list[str]:
    return [row["workload_digest"] for row in tables["workloads"] if row["kind"] == kind]


def runs(made: dict[str, Tables]) -> dict[str, Row]:
    return {run["external_id"]: run for tables in made.values() for run in tables["runs"]}


def test_operations_have_the_published_digests(published: Published) -> None:
    made = {name: tables["operations"][0]["operation_digest"] for name, tables in published.made.items()}
    assert made == published.golden["operations"]


def test_suites_have_the_published_digests(published: Published) -> None:
    made = {name: workloads(tables, "suite") for name, tables in published.made.items()}
    assert made == {name: [digest] for name, digest in published.golden["suites"].items()}


def test_cases_have_the_published_digests(published: Published) -> None:
    made = {name: sorted(set(workloads(tables, "case"))) for name, tables in published.made.items()}
    assert made == published.golden["cases"]


def test_submissions_have_the_published_digests_and_keys(published: Published) -> None:
    made = {
        submission: {
            "kernel": json.loads(run["manifest"])["spec"]["sourceNative"]["benchmark"],
            "run": run["run_digest"],
            "implementation": run["implementation_digest"],
            "protocol": run["protocol_digest"],
            "environment": run["environment_digest"],
            "correctness": run["correctness_key"],
            "comparison_key": run["comparison_key"],
        }
        for submission, run in runs(published.made).items()
    }
    golden = published.golden["submissions"]
    assert made.keys() == golden.keys()
    assert {
        submission: {name: made[submission][name] for name in digests}
        for submission, digests in golden.items()
    } == golden


def test_the_archive_has_as_many_of_everything_as_kernelindex_counts(archived: dict[str, Tables]) -> None:
    def distinct(table: str, key: str, **where: str) -> int:
        rows = [row for tables in archived.values() for row in tables[table]]
        return len({row[key] for row in rows if where.items() <= row.items()})

    assert distinct("operations", "operation_digest") == 235
    assert distinct("workloads", "workload_digest", kind="suite") == 235
    assert distinct("workloads", "workload_digest", kind="case") == 3924
    assert distinct("runs", "run_digest") == distinct("source_submissions", "submission_id") == 708
    assert distinct("runs", "comparison_key") == 333
    assert not [tables["quarantine"] + tables["drift"] for tables in archived.values() if tables["drift"]]
    assert not [tables["quarantine"] for tables in archived.values() if tables["quarantine"]]


@seeds
def test_a_seed_has_the_digest_and_the_comparison_key_of_its_page(
    sample: dict[str, Tables], submission: str, digest: str, comparison_key: str
) -> None:
    run = runs(sample)[submission]
    assert run["run_digest"].startswith(digest)
    assert run["comparison_key"].startswith(comparison_key)


@seeds
def test_a_seed_has_exactly_the_manifests_of_its_page(
    sample: dict[str, Tables], submission: str, digest: str, comparison_key: str
) -> None:
    run = runs(sample)[submission]
    made = {"run": json.loads(run["manifest"])}
    for what in ("protocol", "environment"):
        (manifest,) = {
            row["manifest"]
            for tables in sample.values()
            for row in tables[f"{what}s"]
            if row[f"{what}_digest"] == run[f"{what}_digest"]
        }
        made[what] = json.loads(manifest)
    assert made == json.loads((FIXTURES / f"seeds/{submission}.json").read_text("utf-8"))
