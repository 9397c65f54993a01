"""Manifests are held to their kind's model: nothing unknown, nothing of another type, nothing null."""

import copy
import json
from typing import Any

import pytest
from pydantic import ValidationError

from assets.manifests.kinds import build
from tests.examples import FIXTURES, Row, Tables


def seed(what: str) -> Row:
    found: Row = json.loads((FIXTURES / "seeds/3268.json").read_text("utf-8"))[what]
    return found


def changed(manifest: Row, path: str, value: Any) -> Row:
    """The manifest with one value changed, or taken out where the value is `...`."""
    manifest = copy.deepcopy(manifest)
    *way, name = path.split(".")
    place = manifest
    for step in way:
        place = place[step]
    place[name] = value
    if value is ...:
        del place[name]
    return manifest


def rebuilt(manifest: Row) -> Row:
    made = build(manifest["kind"], manifest["metadata"], manifest["spec"])
    again: Row = json.loads(made.json)
    return again


@pytest.mark.parametrize("what", ["run", "protocol", "environment"])
def test_a_manifest_of_kernelindex_is_taken_as_it_is(what: str) -> None:
    assert rebuilt(seed(what)) == seed(what)


def test_every_manifest_of_the_sample_is_built_again_under_its_digest(sample: dict[str, Tables]) -> None:
    kinds = set()
    for tables in sample.values():
        for table, key in {
            "operations": "operation_digest",
            "workloads": "workload_digest",
            "projects": "project_digest",
            "implementations": "implementation_digest",
            "protocols": "protocol_digest",
            "environments": "environment_digest",
            "runs": "run_digest",
        }.items():
            for row in tables[table]:
                manifest = json.loads(row["manifest"])
                kinds.add(manifest["kind"])
                assert build(manifest["kind"], manifest["metadata"], manifest["spec"]) == (
                    row[key],
                    row["manifest"],
                )
    assert len(kinds) == 8


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("spec.unknown", "field"),
        ("spec.sourceNative.metrics.unknown", 1.0),
        ("spec.timing.latencyNs.p50", 1),
        ("spec.observedAt", None),
        ("spec.sourceNative.metrics.sol_score", None),
        ("spec.sourceNative.metrics.sol_score", "0.69736"),
        ("spec.sourceNative.metrics.sol_score", float("nan")),
        ("spec.sourceNative.metrics.fast_1_count", 16.5),
        ("spec.sourceNative.metrics.fast_1_count", True),
        ("spec.timing.latencyNs.mean", "255422"),
        ("spec.timing.latencyNs.mean", 255422.5),
        ("spec.timing.latencyNs.mean", -1),
        ("spec.timing.latencyNs.mean", 2**53),
        ("spec.sourceNative.externalId", 3268),
        ("spec.runDigest", "sha256:1b"),
        ("spec.workloadDigest", "sha256:1B"),
        ("spec.status", "failed"),
        ("spec.observedAt", "2026-05-20T22:22:23.696"),
        ("spec.observedAt", "2026-05-20T22:22:23.696941Z"),
        ("spec.implementationDigest", ...),
        ("spec.timing", ...),
        ("metadata.name", "Not a slug"),
        ("metadata.name", ...),
        ("metadata.labels", {"worker": ""}),
        ("metadata.labels", {"worker": None}),
        ("metadata.unknown", "field"),
    ],
)
def test_a_run_that_is_not_as_its_model_says_is_refused(path: str, value: Any) -> None:
    with pytest.raises(ValidationError):
        rebuilt(changed(seed("run"), path, value))


@pytest.mark.parametrize(
    "path", ["spec.observedAt", "metadata.labels", "spec.sourceNative.metrics.avg_speedup"]
)
def test_what_the_source_may_not_say_may_be_absent(path: str) -> None:
    manifest = changed(seed("run"), path, ...)
    assert rebuilt(manifest) == manifest


def test_a_digest_is_of_the_spec_and_not_of_the_metadata() -> None:
    run = seed("run")
    digest = build("BenchmarkRun", run["metadata"], run["spec"]).digest
    renamed = changed(run, "metadata.title", "another title")
    assert build("BenchmarkRun", renamed["metadata"], renamed["spec"]).digest == digest
    slower = changed(run, "spec.timing.latencyNs.mean", 255423)
    assert build("BenchmarkRun", slower["metadata"], slower["spec"]).digest != digest
