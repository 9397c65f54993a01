"""From a kernel's definition to its operation, cases and suite; and what of it can't be used."""

import hashlib
import json
from typing import Any

import pytest

from tests.examples import (
    GEMM,
    RAGGED_PREFILL,
    ROPE_FREQUENCY,
    STRIDED_CONV,
    Kernel,
    Row,
    Tables,
    manifests,
    recorded,
)


def operation(tables: Tables) -> Row:
    (manifest,) = manifests(tables, "operations")
    spec: Row = manifest["spec"]
    return spec


def cases(tables: Tables) -> list[Row]:
    return [manifest for manifest in manifests(tables, "workloads") if manifest["kind"] == "WorkloadCase"]


def suite(tables: Tables) -> Row:
    (found,) = (item for item in manifests(tables, "workloads") if item["kind"] == "WorkloadSuite")
    return found


def digests(tables: Tables, kind: str) -> list[str]:
    return [row["workload_digest"] for row in tables["workloads"] if row["kind"] == kind]


def upper_case(kernel: Kernel) -> Kernel:
    """The kernel with every name of an axis or argument in upper case, as live answers can have them."""
    definition = kernel.definition
    for part in ("axes", "inputs", "outputs"):
        definition[part] = {name.upper(): item for name, item in definition[part].items()}
    for axis in definition["axes"].values():
        if axis["type"] == "expr":
            axis["expression"] = axis["expression"].upper()
    for argument in (*definition["inputs"].values(), *definition["outputs"].values()):
        argument["shape"] = [
            entry.upper() if isinstance(entry, str) else entry for entry in argument["shape"] or []
        ]
    for workload in kernel.workloads:
        workload["axes"] = {name.upper(): value for name, value in workload["axes"].items()}
    return kernel


def test_an_operation_s_manifest_is_what_the_kernel_says(gemm: Kernel) -> None:
    (made,) = manifests(gemm.tables(), "operations")
    assert made == {
        "apiVersion": "kernelindex.dev/v1alpha1",
        "kind": "OperationSpec",
        "metadata": {"name": "004-gemm-n128-k2048", "title": GEMM},
        "spec": {
            "family": "gemm",
            "axes": {
                "k": {"role": "constant", "type": "integer", "value": 2048},
                "m": {"role": "variable", "type": "integer"},
                "n": {"role": "constant", "type": "integer", "value": 128},
            },
            "inputs": [
                {"name": "a", "tensor": {"shape": ["m", "k"], "dtype": "fp16"}},
                {"name": "b", "tensor": {"shape": ["n", "k"], "dtype": "fp16"}},
            ],
            "outputs": [{"name": "c", "tensor": {"shape": ["m", "n"], "dtype": "fp16"}}],
            "semantics": {"mutation": "none", "determinism": "unspecified"},
        },
    }


def test_a_case_s_manifest_is_what_the_workload_says(gemm: Kernel) -> None:
    tables = gemm.tables()
    assert cases(tables)[0]["spec"] == {
        "operationSpecDigest": tables["operations"][0]["operation_digest"],
        "axes": {"k": 2048, "m": 6, "n": 128},
        "tensors": {
            "a": {"shape": [6, 2048], "dtype": "fp16"},
            "b": {"shape": [128, 2048], "dtype": "fp16"},
        },
        "correctness": {"comparator": "sol_execbench_eval"},
    }


@pytest.mark.parametrize("name", [GEMM, STRIDED_CONV])
def test_upper_case_names_make_the_same_operation_and_cases(golden: dict[str, Any], name: str) -> None:
    tables = upper_case(recorded(name)).tables()
    assert tables["operations"][0]["operation_digest"] == golden["operations"][name]
    assert sorted(digests(tables, "case")) == golden["cases"][name]


def test_a_case_s_external_id_is_of_its_axes_in_their_own_case(gemm: Kernel) -> None:
    first = suite(gemm.tables())["spec"]["cases"][0]
    external_id = hashlib.sha256(b'{"K":2048,"M":6,"N":128}').hexdigest()[:12]
    assert first == {"externalId": external_id, "axes": {"k": 2048, "m": 6, "n": 128}}


def test_a_uuid_is_the_external_id(gemm: Kernel) -> None:
    gemm.workloads[0]["uuid"] = "0a8aa9ca-90c3-4fec-8e8a-72a6f2f598bf"
    tables = gemm.tables()
    assert suite(tables)["spec"]["cases"][0]["externalId"] == "0a8aa9ca-90c3-4fec-8e8a-72a6f2f598bf"
    assert tables["workloads"][0]["external_id"] == "0a8aa9ca-90c3-4fec-8e8a-72a6f2f598bf"
    assert cases(tables)[0]["metadata"]["name"] == "004-gemm-n128-k2048-0a8aa9ca-90c3-4fec-8e8a-72a6f2f598bf"


def test_no_uuid_is_the_same_as_none(gemm: Kernel, golden: dict[str, Any]) -> None:
    gemm.workloads[0]["uuid"] = None
    assert digests(gemm.tables(), "suite") == [golden["suites"][GEMM]]


def test_derived_axes_may_stand_in_any_order(golden: dict[str, Any]) -> None:
    kernel = recorded(STRIDED_CONV)
    axes = kernel.definition["axes"]
    derived = [name for name, axis in axes.items() if axis["type"] == "expr"]
    assert len(derived) > 1
    kernel.definition["axes"] = dict(reversed(axes.items()))
    assert sorted(digests(kernel.tables(), "case")) == golden["cases"][STRIDED_CONV]


def test_a_derived_axis_may_need_another_that_comes_later(gemm: Kernel) -> None:
    gemm.definition["axes"] |= {
        "tiles": {"type": "expr", "expression": "rows * (n // 64)"},
        "rows": {"type": "expr", "expression": "(M + 63) // 64"},
    }
    gemm.definition["inputs"]["scales"] = {"shape": ["tiles", "rows"], "dtype": "float32"}
    tables = gemm.tables()
    assert operation(tables)["axes"]["rows"] == {
        "role": "derived",
        "type": "integer",
        "expression": "(m + 63) // 64",
    }
    assert cases(tables)[4]["spec"]["axes"]["m"] == 952
    assert cases(tables)[4]["spec"]["tensors"]["scales"] == {"shape": [30, 15], "dtype": "fp32"}


def test_digits_in_a_string_are_a_number(gemm: Kernel, golden: dict[str, Any]) -> None:
    gemm.definition["inputs"]["a"]["shape"] = ["M", "2048"]
    with_digits = gemm.tables()
    gemm.definition["inputs"]["a"]["shape"] = ["M", 2048]
    assert operation(with_digits)["inputs"][0]["tensor"]["shape"] == ["m", 2048]
    assert with_digits["operations"] == gemm.tables()["operations"]


@pytest.mark.parametrize("argument", [{"shape": None}, {"shape": []}, {}], ids=str)
def test_no_shape_is_a_scalar(gemm: Kernel, argument: Row) -> None:
    gemm.definition["inputs"]["alpha"] = {**argument, "dtype": "float32"}
    tables = gemm.tables()
    assert operation(tables)["inputs"][2] == {"name": "alpha", "scalar": {"dtype": "fp32"}}
    assert cases(tables)[0]["spec"]["tensors"].keys() == {"a", "b"}


def test_arguments_keep_the_source_s_order(gemm: Kernel) -> None:
    gemm.definition["inputs"] = dict(reversed(gemm.definition["inputs"].items()))
    assert [argument["name"] for argument in operation(gemm.tables())["inputs"]] == ["b", "a"]


def test_the_suite_keeps_repeats_and_cases_are_distinct() -> None:
    tables = recorded(ROPE_FREQUENCY).tables()
    listed = suite(tables)["spec"]["cases"]
    assert len(listed) == 16
    assert listed == [listed[0]] * 16
    assert len(set(digests(tables, "case"))) == 1
    assert [row["case_count"] for row in tables["workloads"] if row["kind"] == "suite"] == [16]


def test_the_suite_keeps_the_source_s_order() -> None:
    kernel = recorded(RAGGED_PREFILL)
    listed = suite(kernel.tables())["spec"]["cases"]
    assert [case["axes"] for case in listed] == [
        {name.lower(): value for name, value in workload["axes"].items()} for workload in kernel.workloads
    ]
    kernel.workloads.reverse()
    assert suite(kernel.tables())["spec"]["cases"] == list(reversed(listed))


@pytest.mark.parametrize(
    ("op_type", "tags", "family"),
    [
        ("Matrix Multiply", ["attention"], "matrix-multiply"),
        (None, ["L1", "model:LFM2-1.2B", "Grouped GEMM", "moe"], "grouped-gemm"),
        ("", ["FlashInfer-Bench", "L2", "Quant", "moe"], "moe"),
        (None, ["L1", "model:moe"], "uncategorized"),
        (None, [], "uncategorized"),
        (None, None, "uncategorized"),
    ],
)
def test_the_family_is_the_op_type_or_the_first_tag_that_says_something(
    gemm: Kernel, op_type: str | None, tags: list[str] | None, family: str
) -> None:
    gemm.definition |= {"op_type": op_type, "tags": tags}
    assert operation(gemm.tables())["family"] == family


def test_what_is_said_for_people_changes_no_digest(gemm: Kernel, golden: dict[str, Any]) -> None:
    gemm.definition |= {"title": "GEMM", "description": "A matrix product.", "baseline": "def run(a, b): ..."}
    for axis in gemm.definition["axes"].values():
        axis["description"] = "as wide as it says"
    tables = gemm.tables()
    assert tables["operations"][0]["operation_digest"] == golden["operations"][GEMM]
    assert not tables["drift"]


# What can't be used costs what depends on it.


@pytest.mark.parametrize(
    ("part", "more", "reason"),
    [
        ("axes", {"k": {"type": "var"}}, "two of its axes have one name: K, M, N, k"),
        ("inputs", {"A": {"shape": ["M"], "dtype": "half"}}, "two of its inputs have one name: A, a, b"),
        ("outputs", {"x.y": {"dtype": "half"}, "x-y": {"dtype": "half"}}, "two of its outputs have one name"),
        ("axes", {"tiles": {"type": "expr", "expression": "rows * 2"}}, "tiles = rows * 2 names rows, which"),
        ("axes", {"p": {"type": "expr", "expression": "p + 1"}}, "in a circle: p -> p"),
        ("axes", {"tiles": {"type": "expr", "expression": "M ** 2"}}, "'m ** 2' holds more than integers"),
        ("axes", {"two words": {"type": "var"}}, "axes.two words"),
        ("inputs", {"c": {"shape": ["two words"], "dtype": "half"}}, "inputs.2"),
        ("inputs", {"c": {"shape": ["M"], "dtype": "16bit"}}, "inputs.2"),
    ],
)  # fmt: skip
def test_a_kernel_that_makes_no_operation_is_quarantined_with_its_runs(
    gemm: Kernel, part: str, more: Row, reason: str
) -> None:
    gemm.definition[part] |= more
    tables = gemm.tables()
    kernel, *submissions = tables["quarantine"]
    assert (kernel["item"], kernel["locator"]) == ("kernel", "/kernels/213")
    assert reason in kernel["problem"]
    assert [row["item"] for row in submissions] == [f"submission {item['id']}" for item in gemm.submissions]
    assert {row["outcome"] for row in tables["source_submissions"]} == {"QUARANTINED"}
    assert not tables["operations"] + tables["workloads"] + tables["runs"]
    assert len(tables["source_kernels"]) == 1
    assert len(tables["source_workloads"]) == 25


def test_a_size_of_any_number_of_digits_costs_no_more_than_its_kernel(gemm: Kernel) -> None:
    gemm.definition["inputs"]["a"]["shape"] = ["9" * 5000]
    assert gemm.tables()["quarantine"][0]["item"] == "kernel"


@pytest.mark.parametrize(
    ("axes", "reason"),
    [
        ({"K": 2048, "N": 128}, "a shape names m, an axis for which there is no value"),
        ({"K": 2048, "M": -6, "N": 128}, "tensors.a.shape.0: Input should be greater than or equal to 0"),
        ({"K": 2048, "M": 6, "m": 7, "N": 128}, "two of its axes have one name: K, M, N, m"),
        ({"K": 2048, "M": 6.5, "N": 128}, "axes.M: Input should be a valid integer"),
        ({"K": 2048, "M": "6", "N": 128}, "axes.M: Input should be a valid integer"),
        ({"K": 2048, "M": True, "N": 128}, "axes.M: Input should be a valid integer"),
        ({"K": 2048, "M": 2**53, "N": 128}, "axes.M: Input should be less than or equal to 9007199254740991"),
        (None, "axes: Input should be a valid dictionary"),
    ],
)
def test_a_workload_that_makes_no_case_costs_the_suite_and_the_runs_but_no_other_case(
    gemm: Kernel, golden: dict[str, Any], axes: Row | None, reason: str
) -> None:
    gemm.workloads[0]["axes"] = axes
    tables = gemm.tables()
    workload, *submissions = tables["quarantine"]
    assert workload["item"] == "workload 0"
    assert workload["problem"].startswith(reason)
    assert {row["problem"] for row in submissions} == {
        "its kernel has no suite of workloads; the quarantine of its kernel says why"
    }
    assert [row["outcome"] for row in tables["source_submissions"]] == ["QUARANTINED"] * 3
    assert not tables["runs"] + digests(tables, "suite")
    assert len(digests(tables, "case")) == 24
    assert set(digests(tables, "case")) < set(golden["cases"][GEMM])
    assert tables["operations"][0]["operation_digest"] == golden["operations"][GEMM]


def test_a_division_by_zero_costs_the_kernel(gemm: Kernel) -> None:
    gemm.definition["axes"]["waves"] = {"type": "expr", "expression": "K // (M - 6)"}
    tables = gemm.tables()
    problems = {row["item"]: row["problem"] for row in tables["quarantine"]}
    assert problems["kernel"] == "workload 0: derived axis waves divides by zero"
    assert not tables["operations"]
    assert not tables["workloads"]
    assert not tables["runs"]


def test_every_quarantined_item_leads_to_its_page(gemm: Kernel) -> None:
    gemm.workloads[0]["axes"] = None
    pages = {page.locator: page.page_digest for page in gemm.pages()}
    tables = gemm.tables()
    assert {row["locator"] for row in tables["quarantine"]} == set(pages)
    assert all(row["page_digest"] == pages[row["locator"]] for row in tables["quarantine"])


def test_an_empty_list_of_workloads_is_refused(gemm: Kernel) -> None:
    gemm.definition["workloads"] = []
    tables = gemm.tables()
    assert [(row["item"], row["problem"].partition(":")[0]) for row in tables["quarantine"]] == [
        ("page", "workloads")
    ]


def test_axes_of_cases_are_kept_as_json(gemm: Kernel) -> None:
    row = gemm.tables()["workloads"][0]
    assert json.loads(row["axes"]) == {"k": 2048, "m": 6, "n": 128}
