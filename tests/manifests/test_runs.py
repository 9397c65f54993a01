"""From a submission to its run, or to the reason for which it is none."""

import json
from typing import Any

import pytest

from tests.examples import GEMM, Kernel, Row, Tables, manifests, recorded

AWKWARD_NAMES = [
    "Amir M. Mir | SF Tensor",
    "AM I RSI?",
    "Robert'); DROP TABLE runs;--",
    '"quoted" \\ `ticked` $1 %s {0}',
    "[bold red]markup[/] <script>alert(1)</script> **md** ~/../x",
    "two\nlines\tand\r\x00 more",
    "日本語 · العربية · 😀👩‍💻",
    "\u202eright to left\u200b",
    " ",
    "x" * 5000,
]


def run_of(kernel: Kernel) -> Row:
    """The manifest of the run that the kernel's first submission makes."""
    run: Row = manifests(kernel.tables(), "runs")[0]
    return run


def outcomes(tables: Tables) -> list[str]:
    return [row["outcome"] for row in tables["source_submissions"]]


def test_a_run_s_manifest_is_what_the_submission_says(gemm: Kernel) -> None:
    tables = gemm.tables()
    run = tables["runs"][0]
    assert json.loads(run["manifest"]) == {
        "apiVersion": "kernelindex.dev/v1alpha1",
        "kind": "BenchmarkRun",
        "metadata": {
            "name": "sol-submission-32884",
            "title": "Amir M. Mir | SF Tensor · 004_gemm_n128_k2048 · B200",
            "labels": {"worker": gemm.submissions[0]["worker_id"]},
        },
        "spec": {
            "implementationDigest": run["implementation_digest"],
            "workloadDigest": tables["workloads"][-1]["workload_digest"],
            "protocolDigest": run["protocol_digest"],
            "environmentDigest": run["environment_digest"],
            "status": "passed",
            "timing": {"primaryStatistic": "mean", "latencyNs": {"mean": run["primary_value"]}},
            "sourceNative": {
                "source": "sol-execbench",
                "benchmark": GEMM,
                "externalId": "32884",
                "metrics": {
                    name: gemm.submissions[0][name]
                    for name in ("latency_ms", "sol_score", "avg_speedup", "fast_1_count", "fast_1_total")
                },
            },
            "observedAt": gemm.submissions[0]["finished_at"] + "Z",
        },
    }


def test_an_implementation_is_of_its_project_and_supports_what_was_run() -> None:
    kernel = recorded("008_nvfp4_multimodal_embedding_projection")
    kernel.definition["inputs"]["again"] = {"shape": None, "dtype": "float32"}
    tables = kernel.tables()
    (implementation, *_) = manifests(tables, "implementations")
    assert implementation["metadata"] == {
        "name": "sol-submission-36580",
        "title": "Amir M. Mir | SF Tensor · 008_nvfp4_multimodal_embedding_projection",
    }
    assert implementation["spec"] == {
        "projectRevision": {"version": "submission-36580"},
        "operation": {"specDigest": tables["operations"][0]["operation_digest"]},
        "callable": {"language": "unknown"},
        "support": {
            "hardwareArchitectures": ["sm_100"],
            "productsTested": ["NVIDIA B200"],
            "dtypes": sorted({"bool", "fp32", "bf16", "fp8_e4m3", "int64", "float4_e2m1fn_x2"}),
        },
        "licensing": {},
    }
    assert tables["implementations"][0]["project_digest"] == tables["projects"][0]["project_digest"]


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ({}, "run"),
        ({"status": "FAILED"}, "STATUS_FAILED"),
        ({"status": "Timed out!", "is_correct": False}, "STATUS_TIMED_OUT_"),
        ({"status": "PENDING", "latency_ms": None, "is_correct": None}, "STATUS_PENDING"),
        ({"is_correct": False}, "INCORRECT"),
        ({"is_correct": None}, "INCORRECT"),
        ({"is_disqualified": True}, "DISQUALIFIED"),
        ({"is_disqualified": None}, "run"),
        ({"latency_ms": None}, "MISSING_PRIMARY_METRIC"),
        ({"latency_ms": 0}, "MISSING_PRIMARY_METRIC"),
        ({"latency_ms": -0.0}, "MISSING_PRIMARY_METRIC"),
        ({"latency_ms": -0.25}, "MISSING_PRIMARY_METRIC"),
        ({"status": "FAILED", "username": None, "gpu_type": None}, "STATUS_FAILED"),
    ],
    ids=str,
)
def test_a_submission_is_a_run_or_has_a_reason_code(gemm: Kernel, said: Row, outcome: str) -> None:
    gemm.submissions[0] |= said
    tables = gemm.tables()
    assert outcomes(tables) == [outcome, "run", "run"]
    assert [run["external_id"] for run in tables["runs"]] == [
        *(["32884"] if outcome == "run" else []),
        "32777",
        "31712",
    ]
    assert not tables["quarantine"]


@pytest.mark.parametrize("name", ["is_correct", "latency_ms"])
def test_what_a_submission_does_not_say_is_no_run(gemm: Kernel, name: str) -> None:
    del gemm.submissions[0][name]
    assert (
        outcomes(gemm.tables())[0]
        == {"is_correct": "INCORRECT", "latency_ms": "MISSING_PRIMARY_METRIC"}[name]
    )


@pytest.mark.parametrize("name", ["username", "gpu_type", "evaluation_stack_version"])
@pytest.mark.parametrize("absent", [True, False])
def test_a_run_of_nobody_on_nothing_is_quarantined(gemm: Kernel, name: str, absent: bool) -> None:
    gemm.submissions[0][name] = None
    if absent:
        del gemm.submissions[0][name]
    tables = gemm.tables()
    assert [(row["item"], row["problem"]) for row in tables["quarantine"]] == [
        ("submission 32884", f"it would be a run, but names no {name}")
    ]
    assert outcomes(tables) == ["QUARANTINED", "run", "run"]


def test_a_latency_beyond_canonical_json_is_quarantined(gemm: Kernel) -> None:
    gemm.submissions[0]["latency_ms"] = 1e12
    tables = gemm.tables()
    ((item, problem),) = [(row["item"], row["problem"]) for row in tables["quarantine"]]
    assert item == "submission 32884"
    assert "beyond what canonical JSON can hold" in problem
    assert outcomes(tables) == ["QUARANTINED", "run", "run"]


@pytest.mark.parametrize("latency_ms", [1e303, 5e-324])
def test_a_latency_beyond_what_can_be_reckoned_with_is_quarantined(gemm: Kernel, latency_ms: float) -> None:
    gemm.submissions[0]["latency_ms"] = latency_ms
    tables = gemm.tables()
    assert [row["item"] for row in tables["quarantine"]] == ["submission 32884"]
    assert outcomes(tables) == ["run", "run"]


# Half of a pair of UTF-16: JSON can name it, Arrow can't hold it.
@pytest.mark.parametrize(
    ("where", "field"),
    [("definition", "description"), ("definition", "baseline"), ("definition", "unheard_of\ud800"),
     ("submission", "submission_mode"), ("submission", "unheard_of\ud800")],
)  # fmt: skip
def test_text_that_is_no_text_fails_no_other_kernel(gemm: Kernel, where: str, field: str) -> None:
    holder = gemm.definition if where == "definition" else gemm.submissions[0]
    holder[field] = "half a pair: \ud800"
    tables = gemm.tables()
    assert tables["quarantine"] + tables["drift"]


def test_metrics_that_are_not_there_stay_absent(gemm: Kernel) -> None:
    gemm.submissions[0] |= {"sol_score": None, "fast_1_count": None}
    del gemm.submissions[0]["avg_speedup"]
    assert run_of(gemm)["spec"]["sourceNative"]["metrics"] == {
        "latency_ms": gemm.submissions[0]["latency_ms"],
        "fast_1_total": gemm.submissions[0]["fast_1_total"],
    }
    row = gemm.tables()["runs"][0]
    assert (row["sol_score"], row["avg_speedup"], row["fast_1_count"]) == (None, None, None)


def test_a_metric_that_is_zero_is_there(gemm: Kernel) -> None:
    gemm.submissions[0] |= {"sol_score": 0, "fast_1_count": 0}
    metrics = run_of(gemm)["spec"]["sourceNative"]["metrics"]
    assert (metrics["sol_score"], metrics["fast_1_count"]) == (0, 0)


def test_a_worker_that_is_not_named_is_no_label(gemm: Kernel) -> None:
    gemm.submissions[0]["worker_id"] = None
    assert "labels" not in run_of(gemm)["metadata"]


@pytest.mark.parametrize(
    ("latency_ms", "mean_ns"),
    [(0.255422, 255422), (1.093964, 1093964), (2.5e-6, 3), (1.4999e-6, 1), (1e-7, 0), (12, 12_000_000)],
)
def test_the_mean_in_nanoseconds_is_rounded_halves_up(gemm: Kernel, latency_ms: float, mean_ns: int) -> None:
    gemm.submissions[0]["latency_ms"] = latency_ms
    assert run_of(gemm)["spec"]["timing"]["latencyNs"] == {"mean": mean_ns}
    assert gemm.tables()["runs"][0]["primary_value"] == mean_ns


@pytest.mark.parametrize(
    ("finished_at", "submitted_at", "observed_at"),
    [
        ("2026-08-14T05:38:44.902912", "2026-08-14T05:00:00", "2026-08-14T05:38:44.902Z"),
        ("2026-08-14T05:38:44.999999", None, "2026-08-14T05:38:44.999Z"),
        (None, "2026-08-14T05:00:00", "2026-08-14T05:00:00.000Z"),
        ("2026-08-14T05:38:44", None, "2026-08-14T05:38:44.000Z"),
        ("2026-08-14T05:38:44.000001Z", None, "2026-08-14T05:38:44.000Z"),
    ],
)
def test_observed_at_is_cut_to_milliseconds(
    gemm: Kernel, finished_at: str | None, submitted_at: str | None, observed_at: str
) -> None:
    gemm.submissions[0] |= {"finished_at": finished_at, "submitted_at": submitted_at}
    assert run_of(gemm)["spec"]["observedAt"] == observed_at
    row = gemm.tables()["runs"][0]["observed_at"]
    assert row.isoformat(timespec="milliseconds") == observed_at.replace("Z", "+00:00")
    assert row.microsecond % 1000 == 0


def test_the_source_s_times_are_kept_to_the_microsecond(gemm: Kernel) -> None:
    gemm.submissions[0]["finished_at"] = "2026-08-14T05:38:44.902912"
    row = gemm.tables()["source_submissions"][0]
    assert row["finished_at"].isoformat() == "2026-08-14T05:38:44.902912+00:00"


def test_a_run_whose_time_nobody_knows_has_none(gemm: Kernel) -> None:
    gemm.submissions[0] |= {"finished_at": None, "submitted_at": None}
    assert "observedAt" not in run_of(gemm)["spec"]
    assert gemm.tables()["runs"][0]["observed_at"] is None


def test_two_of_one_id_that_are_set_aside_are_two(gemm: Kernel) -> None:
    first, *others = gemm.submissions
    gemm.submissions = [{**first, "latency_ms": "fast"}, {**first, "gpu_type": None}, *others]
    items = [(row["locator"], row["item"]) for row in gemm.tables()["quarantine"]]
    assert len(set(items)) == len(items) == 2


# Who: every account is a project of its own, whatever its name.


def test_names_that_make_one_slug_are_still_different_projects(gemm: Kernel) -> None:
    names = ["Proud Wren @ NVIDIA", "Proud Wren @NVIDIA", "Proud Wren @ Nvidia"]
    for submission, name in zip(gemm.submissions, names, strict=True):
        submission["username"] = name
    projects = gemm.tables()["projects"]
    assert [project["name"] for project in projects] == names
    assert {project["slug"] for project in projects} == {"proud-wren-nvidia"}
    assert len({project["project_digest"] for project in projects}) == 3


def test_submissions_of_one_account_are_of_one_project(gemm: Kernel) -> None:
    names = [submission["username"] for submission in gemm.submissions]
    assert len(names) == 3
    assert [project["name"] for project in gemm.tables()["projects"]] == list(dict.fromkeys(names))


@pytest.mark.parametrize("name", AWKWARD_NAMES, ids=ascii)
def test_a_name_may_hold_anything(gemm: Kernel, name: str) -> None:
    gemm.submissions[0]["username"] = name
    tables = gemm.tables()
    project = manifests(tables, "projects")[0]
    assert project["spec"] == {
        "name": name,
        "kind": "individual",
        "host": {"kind": "other", "id": f"sol-execbench/user/{name}"},
    }
    assert project["metadata"]["title"] == tables["projects"][0]["name"] == name
    assert run_of(gemm)["metadata"]["title"] == f"{name} · {GEMM} · B200"


# Where and how: what is never compared.


def test_stacks_and_gpus_are_different_groups_and_users_are_not(gemm: Kernel) -> None:
    _, second, third = gemm.submissions
    for submission in gemm.submissions:
        submission |= {"gpu_type": "B200", "evaluation_stack_version": "v1.1"}
    assert len({run["comparison_key"] for run in gemm.tables()["runs"]}) == 1
    second["gpu_type"] = "H100"
    third["evaluation_stack_version"] = "v1.0"
    runs = gemm.tables()["runs"]
    assert len({run["comparison_key"] for run in runs}) == 3
    assert len({run["protocol_digest"] for run in runs}) == 2
    assert len({run["environment_digest"] for run in runs}) == 3


def test_a_prefix_makes_no_other_gpu(gemm: Kernel) -> None:
    gemm.submissions[0]["gpu_type"] = "NVIDIA_B200"
    tables = gemm.tables()
    assert len({row["environment_digest"] for row in tables["environments"]}) == len(
        {submission["evaluation_stack_version"] for submission in gemm.submissions}
    )


# What stands in all manifests of a group, beside what differs from run to run.


@pytest.mark.parametrize("name", ["a submission", "2026-01-01T00:00:00.000Z", "sha256:" + "0" * 64])
def test_a_kernel_may_have_any_name(gemm: Kernel, name: str) -> None:
    gemm.definition["name"] = name
    assert run_of(gemm)["spec"]["sourceNative"]["benchmark"] == name


@pytest.mark.parametrize("gpu_type", ["a revision", "a_revision"])
def test_a_gpu_may_have_any_name(gemm: Kernel, gpu_type: str) -> None:
    gemm.submissions[0]["gpu_type"] = gpu_type
    assert outcomes(gemm.tables()) == ["run", "run", "run"]


def test_a_digest_may_hold_any_digits(gemm: Kernel) -> None:
    gemm.definition["workloads"] = [{"axes": {"K": 2048, "M": 8996, "N": 128}}]
    tables = gemm.tables()
    assert "12345" in tables["workloads"][-1]["workload_digest"]
    assert outcomes(tables) == ["run", "run", "run"]


def test_an_unknown_gpu_keeps_its_name(gemm: Kernel) -> None:
    gemm.submissions[0]["gpu_type"] = "RTX_PRO_6000"
    environment = manifests(gemm.tables(), "environments")[0]
    assert environment["spec"]["hardware"] == {
        "vendor": "nvidia",
        "product": "RTX PRO 6000",
        "architecture": "unknown",
    }


def test_every_run_leads_to_the_page_it_was_read_from(gemm: Kernel, golden: dict[str, Any]) -> None:
    _, listing = gemm.pages()
    assert {run["page_digest"] for run in gemm.tables()["runs"]} == {listing.page_digest}
