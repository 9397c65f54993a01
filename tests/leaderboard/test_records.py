"""What a page says, what of it can't be read, and what nobody knows.

What the records become belongs in `tests/manifests`.
"""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from assets.leaderboard.records import (
    Records,
    Unreadable,
    read_answer,
    read_kernel,
    read_kernel_listing,
    submission_counts,
)
from assets.leaderboard.snapshots import Page
from tests.examples import SERVED, Kernel, Row, answer, page

A_PAGE = "/kernels/213"


def with_text(kernel: Kernel, field: str, text: str) -> Page:
    """The kernel's listing, its first submission with this JSON text in a field."""
    kernel.submissions[0][field] = "@here@"
    whole = kernel.submissions_page()
    return page(whole.locator, whole.body.replace(b'"@here@"', text.encode()))


def read_with(kernel: Kernel, listing: Page) -> Records:
    return read_kernel(kernel.id, [kernel.definition_page(), listing])


def ids(records: Records) -> list[int]:
    return [row["submission_id"] for row in records.submissions]


def set_aside(records: Records) -> dict[str, str]:
    return {row["item"]: row["problem"] for row in records.quarantine}


# What is read.


def test_a_kernel_is_read_as_the_source_says_it(gemm: Kernel) -> None:
    records = gemm.read()
    assert records.kernel is not None
    assert json.loads(records.kernel.pop("axes")) == gemm.definition["axes"]
    assert json.loads(records.kernel.pop("inputs")) == gemm.definition["inputs"]
    assert json.loads(records.kernel.pop("outputs")) == gemm.definition["outputs"]
    assert records.kernel == {
        "kernel_id": 213,
        "kernel_name": "004_gemm_n128_k2048",
        "title": "004_gemm_n128_k2048",
        "description": None,
        "op_type": None,
        "gpu_types": ["B200"],
        "tags": ["gemm", "FlashInfer-Bench"],
        "baseline": None,
        "baseline_latency_ms": 0.000835,
        "latency_unit": "ms",
        "sol_is_dummy": False,
        "submission_total": 3,
        "submissions_held": 3,
        "page_digest": gemm.definition_page().page_digest,
    }


def test_workloads_are_read_in_their_order(gemm: Kernel) -> None:
    records = gemm.read()
    assert [json.loads(row["axes"]) for row in records.workloads] == [item["axes"] for item in gemm.workloads]
    assert [row["position"] for row in records.workloads] == list(range(25))
    assert records.workloads[4]["sol_ms"] == 0.0007


def test_a_submission_is_read_as_the_source_says_it(gemm: Kernel) -> None:
    gemm.submissions[0] |= {"submitted_at": "2026-08-14T05:38:44.902912", "fast_1_count": 25}
    row = gemm.read().submissions[0]
    assert row["submission_id"] == 32884
    assert row["username"] == "Amir M. Mir | SF Tensor"
    assert row["submitted_at"] == datetime(2026, 8, 14, 5, 38, 44, 902912, tzinfo=UTC)
    assert row["fast_1_count"] == 25
    assert row["page_digest"] == gemm.submissions_page().page_digest


def test_a_whole_number_is_a_number(gemm: Kernel) -> None:
    records = read_with(gemm, with_text(gemm, "latency_ms", "1"))
    assert records.submissions[0]["latency_ms"] == 1.0
    assert not records.quarantine


def test_submissions_of_several_pages_are_read_together_and_the_later_page_is_right(gemm: Kernel) -> None:
    first, second, third = gemm.submissions
    pages = [
        gemm.definition_page(),
        gemm.submissions_page([first, second], None),
        gemm.submissions_page([{**second, "is_disqualified": True}, third], 2),
    ]
    records = read_kernel(gemm.id, pages)
    assert ids(records) == [32884, 32777, 31712]
    assert [row["is_disqualified"] for row in records.submissions] == [False, True, False]
    assert [row["page_digest"] for row in records.submissions] == [
        pages[1].page_digest,
        pages[2].page_digest,
        pages[2].page_digest,
    ]


def test_a_listing_of_nothing_is_a_listing(gemm: Kernel) -> None:
    records = read_with(gemm, gemm.submissions_page([]))
    assert records.kernel is not None
    assert not records.submissions + records.quarantine


# One bad submission costs one submission.


@pytest.mark.parametrize(
    ("field", "text", "reason"),
    [
        ("latency_ms", "NaN", "latency_ms: Input should be a finite number, not nan"),
        ("latency_ms", "Infinity", "latency_ms: Input should be a finite number, not inf"),
        ("latency_ms", "-Infinity", "latency_ms: Input should be a finite number, not -inf"),
        ("latency_ms", "1e999", "latency_ms: Input should be a finite number, not inf"),
        ("latency_ms", '"0.25"', "latency_ms: Input should be a valid number, not '0.25'"),
        ("latency_ms", "true", "latency_ms: Input should be a valid number, not True"),
        ("latency_ms", "[0.25]", "latency_ms: Input should be a valid number, not [0.25]"),
        ("sol_score", "{}", "sol_score: Input should be a valid number, not {}"),
        ("fast_1_count", "15.5", "fast_1_count: Input should be a valid integer, not 15.5"),
        ("fast_1_count", "true", "fast_1_count: Input should be a valid integer, not True"),
        ("fast_1_count", "-1", "fast_1_count: Input should be greater than or equal to 0, not -1"),
        ("is_correct", '"true"', "is_correct: Input should be a valid boolean, not 'true'"),
        ("is_correct", "1", "is_correct: Input should be a valid boolean, not 1"),
        ("is_disqualified", '"no"', "is_disqualified: Input should be a valid boolean, not 'no'"),
        ("status", "null", "status: Input should be a valid string, not None"),
        ("username", "7", "username: Input should be a valid string, not 7"),
        ("username", '""', "username: String should have at least 1 character, not ''"),
        ("username", r'"\ud800"', "username: Input should be a valid string, unable to parse"),
        ("finished_at", '"yesterday"', "finished_at: Value error, should be a time like 2026-08-14T05:38:44"),
        ("finished_at", '"2026-02-30T00:00:00"', "finished_at: Value error, day is out of range for month"),
        ("finished_at", '"2026-08-14"', "finished_at: Value error, should be a time like"),
        ("finished_at", "1786685924", "finished_at: Value error, should be a time like"),
        ("gpu_type", '["B200"]', "gpu_type: Input should be a valid string, not ['B200']"),
        ("kernel_id", "14", "it is of kernel 14, listed under kernel 213"),
        ("kernel_id", '"213"', "kernel_id: Input should be a valid integer, not '213'"),
        ("latency_ms", "[" * 200 + "]" * 200, "latency_ms: Input should be a valid number, not [[["),
    ],
)  # fmt: skip
def test_a_submission_that_can_t_be_read_is_set_aside_alone(
    gemm: Kernel, field: str, text: str, reason: str
) -> None:
    listing = with_text(gemm, field, text)
    records = read_with(gemm, listing)
    assert ids(records) == [32777, 31712]
    assert records.kernel is not None
    (row,) = records.quarantine
    problem = row.pop("problem")
    assert row == {
        "locator": "/submissions?kernel_id=213",
        "item": "submission 32884",
        "page_digest": listing.page_digest,
        "first_seen_at": SERVED,
    }
    assert problem.startswith(reason)
    assert len(problem) < 200


@pytest.mark.parametrize("field", ["id", "kernel_id", "status"])
def test_a_submission_without_what_it_must_say_is_set_aside(gemm: Kernel, field: str) -> None:
    del gemm.submissions[0][field]
    records = gemm.read()
    item = "submission at 0" if field == "id" else "submission 32884"
    assert set_aside(records) == {item: f"{field}: Field required"}
    assert ids(records) == [32777, 31712]


@pytest.mark.parametrize(
    ("text", "item"),
    [('"32884"', "submission at 0"), ("true", "submission at 0"), ("32884.5", "submission at 0"),
     ("-1", "submission -1"), ("1e3", "submission at 0"), ("null", "submission at 0")],
)  # fmt: skip
def test_a_submission_without_an_id_is_named_by_its_place(gemm: Kernel, text: str, item: str) -> None:
    records = read_with(gemm, with_text(gemm, "id", text))
    assert set_aside(records).keys() == {item}


@pytest.mark.parametrize("item", [None, 7, "32884", [], [{"id": 32884}], {}])
def test_what_is_no_submission_is_set_aside(gemm: Kernel, item: Any) -> None:
    gemm.submissions[1:2] = [item]
    records = gemm.read()
    assert set_aside(records).keys() == {"submission at 1"}
    assert ids(records) == [32884, 31712]


def test_what_else_is_wrong_is_counted(gemm: Kernel) -> None:
    gemm.submissions[0] |= {"latency_ms": "fast", "is_correct": "yes", "sol_score": "high"}
    assert set_aside(gemm.read())["submission 32884"].endswith("; and 2 more")


@pytest.mark.parametrize("text", ["[" * 300 + "]" * 300, '{"a":' * 300 + "0" + "}" * 300])
def test_a_value_that_is_nested_deep_costs_its_submission(gemm: Kernel, text: str) -> None:
    records = read_with(gemm, with_text(gemm, "latency_ms", text))
    assert set_aside(records).keys() == {"submission 32884"}
    assert ids(records) == [32777, 31712]


@pytest.mark.parametrize("levels", [900, 960, 1000, 1020])
def test_a_value_that_is_nested_absurdly_costs_no_more_than_its_page(gemm: Kernel, levels: int) -> None:
    for field in ("latency_ms", "run_log"):
        records = read_with(gemm, with_text(gemm, field, "[" * levels + "]" * levels))
        assert records.submissions or set_aside(records).keys() == {"page"}


def test_what_is_not_used_may_be_nested_deep(gemm: Kernel) -> None:
    records = read_with(gemm, with_text(gemm, "profiling_results", "[" * 300 + "]" * 300))
    assert ids(records) == [32884, 32777, 31712]


@pytest.mark.parametrize(
    "time",
    ["0001-01-01T00:00:00+01:00", "1969-12-31T23:59:59", "2262-01-01T00:00:00", "9999-12-31T23:59:59-01:00"],
)
def test_a_time_out_of_range_costs_its_submission(gemm: Kernel, time: str) -> None:
    gemm.submissions[0]["finished_at"] = time
    assert set_aside(gemm.read()).keys() == {"submission 32884"}


def test_two_that_can_t_be_read_are_two_even_with_one_id(gemm: Kernel) -> None:
    broken = {**gemm.submissions[0], "latency_ms": "fast"}
    gemm.submissions += [broken, {**broken, "latency_ms": "slow"}]
    items = [(row["locator"], row["item"]) for row in gemm.read().quarantine]
    assert len(set(items)) == len(items) == 2


def test_a_submission_whose_last_state_can_t_be_read_has_no_older_one(gemm: Kernel) -> None:
    changed = {**gemm.submissions[0], "is_disqualified": "yes"}
    pages = [*gemm.pages(), gemm.submissions_page([changed], 3)]
    records = read_kernel(gemm.id, pages)
    assert set_aside(records).keys() == {"submission 32884"}
    assert 32884 not in ids(records)


def test_a_number_of_any_length_costs_no_more_than_its_submission(gemm: Kernel) -> None:
    records = read_with(gemm, with_text(gemm, "fast_1_count", "1" * 5000))
    assert ids(records) == [32777, 31712]


# Names that an object has twice: which of the two is meant nobody knows.


@pytest.mark.parametrize(
    "twice",
    [
        '"latency_ms":0.5,"latency_ms":0.25',
        '"latency_ms" : 0.5, "latency_ms"\n\t: 0.25',
        '"latency_ms":0.5,"latency\\u005fms":0.25',
        '"latency_ms":0.5,"\\u006catency_ms":0.5',
        '"username":"a \\":","username":"b"',
        '"fast_1_count":16,"note":"says \\"fast_1_count\\": 16","fast_1_count":16',
    ],
)
def test_a_submission_that_names_a_field_twice_is_set_aside_alone(gemm: Kernel, twice: str) -> None:
    body = gemm.submissions_page().body
    listing = page(gemm.submissions_page().locator, body.replace(b'"type":', f'{twice},"type":'.encode(), 1))
    assert listing.body != body
    records = read_with(gemm, listing)
    assert ids(records) == [32777, 31712]
    ((item, problem),) = set_aside(records).items()
    assert item == "submission at 0"
    assert "an object that names" in problem
    assert problem.endswith("twice")


def test_text_that_looks_like_a_field_is_no_second_field(gemm: Kernel) -> None:
    gemm.submissions[0]["username"] = '{"id": 1, "id":2}, \\"id\\" : \\u0022id\\u0022:'
    records = gemm.read()
    assert records.submissions[0]["username"] == gemm.submissions[0]["username"]
    assert not records.quarantine + records.drift


def test_a_workload_that_names_an_axis_twice_is_set_aside_alone(gemm: Kernel) -> None:
    whole = gemm.definition_page()
    body = whole.body.replace(b'"M": 6,', b'"M": 6, "M": 7,', 1)
    records = read_kernel(gemm.id, [page(whole.locator, body), gemm.submissions_page()])
    assert set_aside(records) == {
        "workload 0": "axes: Input should be a valid dictionary, not an object that names 'M' twice"
    }
    assert len(records.workloads) == 24


@pytest.mark.parametrize(
    ("old", "new"), [(b'"data"', b'"data": 1, "data"'), (b'"submissions"', b'"total": 3, "submissions"')]
)
def test_a_page_that_names_a_field_twice_can_t_be_read(gemm: Kernel, old: bytes, new: bytes) -> None:
    whole = gemm.submissions_page()
    records = read_with(gemm, page(whole.locator, whole.body.replace(old, new, 1)))
    assert set_aside(records).keys() == {"page"}
    assert "twice" in set_aside(records)["page"]


# One bad workload.


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("axes", None, "axes: Input should be a valid dictionary"),
        ("axes", {"M": "6"}, "axes.M: Input should be a valid integer, not '6'"),
        ("axes", {"M": 1.5}, "axes.M: Input should be a valid integer"),
        ("axes", {"M": True}, "axes.M: Input should be a valid integer"),
        ("axes", {"": 6}, "axes..[key]: String should have at least 1 character"),
        ("uuid", 7, "uuid: Input should be a valid string"),
    ],
)
def test_a_workload_that_can_t_be_read_is_set_aside_alone(
    gemm: Kernel, field: str, value: Any, reason: str
) -> None:
    gemm.workloads[3][field] = value
    records = gemm.read()
    ((item, problem),) = set_aside(records).items()
    assert item == "workload 3"
    assert problem.startswith(reason)
    assert [row["position"] for row in records.workloads] == [0, 1, 2, *range(4, 25)]
    assert len(records.submissions) == 3


# Fields that no manifest needs cost no more than themselves.


@pytest.mark.parametrize("value", ["0.1", float("nan")])
def test_a_bound_that_can_t_be_read_costs_no_workload(gemm: Kernel, value: Any) -> None:
    gemm.workloads[3]["sol_ms"] = value
    records = gemm.read()
    assert [row["sol_ms"] is None for row in records.workloads] == [n == 3 for n in range(25)]
    ((item, problem),) = set_aside(records).items()
    assert item == "sol_ms of workload 3"
    assert problem.startswith("sol_ms: Input should be a")
    assert problem.endswith("; the field is left out")


@pytest.mark.parametrize("field", ["title", "baseline_latency_ms", "gpu_types", "sol_is_dummy"])
def test_a_side_field_of_a_definition_costs_no_kernel(gemm: Kernel, field: str) -> None:
    gemm.definition[field] = [7]
    records = gemm.read()
    assert records.kernel is not None
    assert not records.kernel[field]
    assert set_aside(records).keys() == {f"{field} of kernel"}
    assert len(records.submissions) == 3


@pytest.mark.parametrize("field", ["worker_id", "submitted_at"])
def test_a_side_field_of_a_submission_costs_no_submission(gemm: Kernel, field: str) -> None:
    gemm.submissions[0][field] = 7
    records = gemm.read()
    assert ids(records) == [32884, 32777, 31712]
    assert set_aside(records).keys() == {f"{field} of submission 32884"}


def test_a_disqualified_submission_needs_no_number(gemm: Kernel) -> None:
    gemm.submissions[0] |= {"is_disqualified": True, "latency_ms": float("nan"), "avg_speedup": "fast"}
    records = gemm.read()
    assert records.submissions[0]["is_disqualified"]
    assert set_aside(records).keys() == {
        "latency_ms of submission 32884",
        "avg_speedup of submission 32884",
    }


# Submissions that are not public.


@pytest.mark.parametrize("mode", ["private", "draft", "Release", "", None, 7, {"name": "secret"}, "\ud800"])
def test_of_a_submission_that_is_not_public_only_the_id_is_read(gemm: Kernel, mode: Any) -> None:
    secrets = {"username": "secret", "latency_ms": "secret", "kernel_id": "secret", "secret": 1}
    gemm.submissions[0] |= {"submission_mode": mode, **secrets}
    records = gemm.read()
    private, *others = records.submissions
    assert private == {
        "submission_id": 32884,
        "kernel_id": 213,
        "is_private": True,
        "page_digest": gemm.submissions_page().page_digest,
    }
    assert len(others) == 2
    assert "secret" not in repr(records)


def test_a_submission_that_is_not_public_and_has_no_id_is_set_aside_without_a_word(gemm: Kernel) -> None:
    gemm.submissions[0] |= {"submission_mode": "private", "id": "secret"}
    records = gemm.read()
    assert set_aside(records) == {"submission at 0": "it is not public, and its id can't be read"}


def test_of_a_page_that_breaks_off_no_row_is_shown(gemm: Kernel) -> None:
    body = b'{"data": {"submissions": [ {"u": "secret"'
    records = read_with(gemm, page("/submissions?kernel_id=213", body))
    assert "secret" not in set_aside(records)["page"]


# Rows that stand twice.


def test_a_submission_that_stands_twice_on_a_page_counts_as_it_stands_last(gemm: Kernel) -> None:
    gemm.submissions.append({**gemm.submissions[0], "is_disqualified": True})
    records = gemm.read()
    assert sorted(ids(records)) == [31712, 32777, 32884]
    assert set_aside(records) == {
        "submission 32884 at 0": "it stands on the page again, and counts as it stands last"
    }
    assert [row["is_disqualified"] for row in records.submissions if row["submission_id"] == 32884] == [True]


# One bad field that no manifest needs.


@pytest.mark.parametrize(
    ("place", "field", "value", "reason"),
    [
        ("definition", "baseline_latency_ms", 1e300, "should be 0, or between 1e-15 and 1e15 in size"),
        ("workloads", "sol_ms", "0.1", "Input should be a valid number"),
        ("workloads", "sol_ms", float("nan"), "Input should be a finite number"),
        ("workloads", "sol_ms", 5e-324, "should be 0, or between 1e-15 and 1e15 in size"),
        ("submissions", "started_at", "9999-12-31T23:59:59", "should be a time of the years 1970 to 2261"),
        (
            "submissions",
            "benchmark_results",
            json.loads("[" * 300 + "]" * 300),
            "can't be kept as JSON",
        ),
        ("submissions", "error_log", "\ud800", "surrogates not allowed"),
    ],
)
def test_a_field_that_no_manifest_needs_costs_only_itself(
    gemm: Kernel, place: str, field: str, value: Any, reason: str
) -> None:
    of = gemm.definition if place == "definition" else getattr(gemm, place)[1]
    of[field] = value
    name = {"definition": "kernel", "workloads": "workload 1", "submissions": "submission 32777"}[place]
    ((item, problem),) = set_aside(gemm.read()).items()
    assert item == f"{field} of {name}"
    assert reason in problem
    assert problem.endswith("the field is left out")
    tables = gemm.tables()
    assert [row["outcome"] for row in tables["source_submissions"]] == ["run", "run", "run"]
    table = {"definition": "source_kernels", "workloads": "source_workloads"}.get(place, "source_submissions")
    assert tables[table][place != "definition"][field] is None


def test_a_description_that_is_no_text_costs_only_itself(gemm: Kernel) -> None:
    gemm.definition["axes"]["M"]["description"] = 7
    records = gemm.read()
    assert set_aside(records).keys() == {"axes.M.description of kernel"}
    assert records.kernel
    assert json.loads(records.kernel["axes"])["M"] == {"type": "var"}


# What the source says beyond what manifests need.


def test_axes_and_arguments_keep_their_descriptions_and_the_operation_its_digest(gemm: Kernel) -> None:
    before = gemm.tables()["operations"][0]["operation_digest"]
    gemm.definition["axes"]["M"]["description"] = "rows"
    gemm.definition["inputs"]["a"]["description"] = "left"
    tables = gemm.tables()
    kernel = tables["source_kernels"][0]
    assert json.loads(kernel["axes"])["M"]["description"] == "rows"
    assert json.loads(kernel["inputs"])["a"]["description"] == "left"
    assert tables["operations"][0]["operation_digest"] == before


def test_a_submission_keeps_what_people_ask_for(gemm: Kernel) -> None:
    gemm.submissions[0] |= {
        "is_disqualified": True,
        "disqualification_reason": "caches its results",
        "disqualification_source": {"reviewer": "a person"},
        "disqualified_at": "2026-08-20T10:00:00",
        "review_status": "done",
        "review_score": 2,
        "collection_id": None,
        "benchmark_results": [{"ms": 1}],
        "user_id": 12,
    }
    row = gemm.tables()["source_submissions"][0]
    assert row["outcome"] == "DISQUALIFIED"
    assert row["disqualification_reason"] == "caches its results"
    assert row["disqualification_source"] == '{"reviewer":"a person"}'
    assert row["disqualified_at"] == datetime(2026, 8, 20, 10, tzinfo=UTC)
    assert row["review"] == '{"score":2,"status":"done"}'
    assert row["collection"] is None
    assert row["benchmark_results"] == '[{"ms":1}]'
    assert row["user_id"] == "12"


# One unreadable page.


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"<!doctype html><title>502 Bad Gateway</title>", "the page is no JSON; it starts with '<!doctype"),
        (b'{"data": {"submissions": [{"id": 1,', "the page is no JSON; it starts with"),
        (b"", "the page is no JSON; it starts with ''"),
        (b"\x89PNG\r\n\x1a\n\x00", "the page is no JSON; it starts with '\ufffdPNG"),
        (b"\x1f\x8b\x08\x00", "the page is no JSON; it starts with"),
        (b'{"data": {"total": 0, "submissions": []}} trailing', "the page is no JSON"),
        (b"[" * 100_000 + b"]" * 100_000, "the page is nested too deep; it starts with '[[[["),
        (b'{"data":' * 100_000, "the page is nested too deep; it starts with"),
        (b"null", 'the answer is no {"data": ...} but None'),
        (b'"data"', "the answer is no {\"data\": ...} but 'data'"),
        (b'[{"data": {}}]', 'the answer is no {"data": ...} but'),
        (b'{"detail": "Not Found"}', "the answer is no {\"data\": ...} but {'detail': 'Not Found'}"),
        (b'{"data": null}', "it: Input should be a valid dictionary, not None"),
        (b'{"data": {"submissions": {}, "total": 3}}', "submissions: Input should be a valid list, not {}"),
        (b'{"data": {"total": 3}}', "submissions: Field required"),
    ],
)  # fmt: skip
def test_an_unreadable_page_costs_its_kernel_and_says_why(gemm: Kernel, body: bytes, reason: str) -> None:
    bad = page("/submissions?kernel_id=213", body)
    records = read_with(gemm, bad)
    assert records.kernel is None
    assert not records.workloads + records.submissions
    (row,) = records.quarantine
    assert row["item"] == "page"
    assert row["problem"].startswith(reason)
    assert len(row["problem"]) < 200
    assert (row["locator"], row["page_digest"]) == (bad.locator, bad.page_digest)


def test_a_page_that_was_not_answered_with_200_can_t_be_read() -> None:
    not_found = Page(A_PAGE, b'{"data": {}}', SERVED, "test:", status=404)
    with pytest.raises(Unreadable, match="the source answered with status 404"):
        read_answer(not_found)


def test_an_answer_without_data_can_t_be_read() -> None:
    with pytest.raises(Unreadable, match=r'the answer is no \{"data": ...\}'):
        read_answer(page(A_PAGE, b"{}"))


def change(**fields: Any) -> Row:
    return fields


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        (change(id=214), "the page is of kernel 214, not of kernel 213"),
        (change(id="213"), "id: Input should be a valid integer, not '213'"),
        (change(name=None), "name: Input should be a valid string, not None"),
        (change(axes=[]), "axes: Input should be a valid dictionary, not []"),
        (change(axes={"M": {"type": "range"}}), "axes.M: Input tag 'range' found using 'type' does not"),
        (change(axes={"M": {}}), "axes.M: Unable to extract tag"),
        (change(axes={"M": "var"}), "axes.M: Input should be a valid dictionary"),
        (change(axes={"M": {"type": "const"}}), "axes.M.const.value: Field required"),
        (change(axes={"M": {"type": "const", "value": 1.5}}), "axes.M.const.value: Input should be a valid"),
        (change(axes={"M": {"type": "expr", "expression": ""}}), "axes.M.expr.expression: String should"),
        (change(inputs={"a": {"shape": "M"}}), "inputs.a.shape: Input should be a valid list"),
        (change(inputs={"a": {"shape": ["M"]}}), "inputs.a.dtype: Field required"),
        (change(inputs={"a": {"shape": [-1], "dtype": "half"}}), "inputs.a.shape.0"),
        (change(inputs={"a": {"shape": [True], "dtype": "half"}}), "inputs.a.shape.0"),
        (change(inputs={"a": {"shape": [None], "dtype": "half"}}), "inputs.a.shape.0"),
        (change(outputs=None), "outputs: Input should be a valid dictionary"),
        (change(tags="gemm"), "tags: Input should be a valid list, not 'gemm'"),
        (change(workloads={}), "workloads: Input should be a valid list"),
    ],
)  # fmt: skip
def test_a_definition_that_can_t_be_read_costs_its_kernel(gemm: Kernel, fields: Row, reason: str) -> None:
    gemm.definition |= fields
    records = read_kernel(213, [answer("/kernels/213", gemm.definition), gemm.submissions_page()])
    (row,) = records.quarantine
    assert (row["item"], row["locator"]) == ("page", "/kernels/213")
    assert row["problem"].startswith(reason)
    assert records.kernel is None
    assert not records.submissions


def test_a_mark_of_byte_order_is_no_harm(gemm: Kernel) -> None:
    whole = gemm.submissions_page()
    records = read_with(gemm, page(whole.locator, b"\xef\xbb\xbf" + whole.body))
    assert (len(records.submissions), records.quarantine) == (3, [])


def test_a_page_in_utf_16_is_read(gemm: Kernel) -> None:
    gemm.submissions[0]["username"] = "日本 😀"
    whole = gemm.submissions_page()
    body = json.dumps(json.loads(whole.body), ensure_ascii=False).encode("utf-16")
    records = read_with(gemm, page(whole.locator, body))
    assert records.submissions[0]["username"] == "日本 😀"
    assert not records.quarantine


# Drift: what nobody knows.


def test_a_field_that_nobody_knows_is_noted_once_a_page(gemm: Kernel) -> None:
    for submission in gemm.submissions:
        submission |= {"carbon_g": 3, "tensor_cores": None}
    gemm.definition["license"] = "MIT"
    gemm.definition["axes"]["M"]["unit"] = "rows"
    gemm.definition["inputs"]["a"]["layout"] = "row"
    gemm.definition["inputs"]["b"]["layout"] = "column"
    gemm.definition["outputs"]["c"]["layout"] = "row"
    gemm.workloads[1]["seed"] = gemm.workloads[2]["seed"] = 7
    records = gemm.read()
    definition, listing = gemm.pages()
    assert [(row["locator"], row["field"]) for row in records.drift] == [
        (definition.locator, "data.license"),
        (definition.locator, "data.axes.*.unit"),
        (definition.locator, "data.inputs.*.layout"),
        (definition.locator, "data.outputs.*.layout"),
        (definition.locator, "data.workloads[].seed"),
        (listing.locator, "data.submissions[].carbon_g"),
        (listing.locator, "data.submissions[].tensor_cores"),
    ]
    assert {row["page_digest"] for row in records.drift} == {definition.page_digest, listing.page_digest}
    assert not records.quarantine
    assert len(records.submissions) == 3


def test_each_page_notes_what_it_has(gemm: Kernel) -> None:
    for submission in gemm.submissions:
        submission["carbon_g"] = 3
    first, *others = gemm.submissions
    pages = [gemm.definition_page(), gemm.submissions_page([first]), gemm.submissions_page(others, 1)]
    drift = read_kernel(gemm.id, pages).drift
    assert [row["locator"] for row in drift] == [
        "/submissions?kernel_id=213",
        "/submissions?kernel_id=213&offset=1",
    ]


def test_fields_that_are_kept_but_not_used_are_no_drift(gemm: Kernel) -> None:
    unused = "type user_id kernel_title collection_id collection_submission_id collection_title"
    unused += " benchmark_results disqualification_reason error_log original_filename"
    unused += " profiling_results run_log"
    for field in unused.split():
        gemm.submissions[0][field] = {"anything": [1, "at", None]}
    records = gemm.read()
    assert not records.drift + records.quarantine
    assert len(records.submissions) == 3


@pytest.mark.parametrize("field", ["review_status", "collection_name", "disqualification_note"])
def test_a_family_of_fields_that_is_not_used_is_no_drift(gemm: Kernel, field: str) -> None:
    gemm.submissions[0][field] = "anything"
    assert not gemm.read().drift


def test_a_field_beside_data_is_noted(gemm: Kernel) -> None:
    whole = gemm.submissions_page()
    listing = page(whole.locator, whole.body.replace(b'{"data"', b'{"warnings": [], "data"', 1))
    assert [row["field"] for row in read_with(gemm, listing).drift] == ["warnings"]


def test_the_recorded_pages_hold_nothing_that_nobody_knows(sample: dict[str, dict[str, list[Row]]]) -> None:
    assert not [row for tables in sample.values() for row in tables["drift"] + tables["quarantine"]]


# The listing of kernels.


def test_kernels_are_listed_by_id() -> None:
    listing = {
        "kernels": [{"id": 213, "name": "004_gemm_n128_k2048", "title": "GEMM", "submission_count": 3}]
    }
    names, records = read_kernel_listing(answer("/kernels", listing))
    assert names == {213: "004_gemm_n128_k2048"}
    assert not records.quarantine + records.drift


@pytest.mark.parametrize(
    ("item", "named"),
    [({"id": 7}, "kernel 7"), ({"id": "7", "name": "x"}, "kernel at 1"), ({"id": 7, "name": ""}, "kernel 7"),
     (None, "kernel at 1"), ("x", "kernel at 1")],
)  # fmt: skip
def test_a_listed_kernel_that_can_t_be_read_is_set_aside_alone(item: Any, named: str) -> None:
    listing = {"kernels": [{"id": 1, "name": "a"}, item, {"id": 2, "name": "b", "colour": "red"}]}
    names, records = read_kernel_listing(answer("/kernels", listing))
    assert names == {1: "a", 2: "b"}
    assert set_aside(records).keys() == {named}
    assert [row["field"] for row in records.drift] == ["data.kernels[].colour"]


def test_of_a_kernel_that_is_listed_under_two_names_the_first_counts() -> None:
    kernels = [{"id": 1, "name": "a"}, {"id": 1, "name": "b"}, {"id": True, "name": "c"}]
    names, records = read_kernel_listing(answer("/kernels", {"kernels": kernels}))
    assert names == {1: "a"}
    assert set_aside(records) == {
        "kernel 1 at 1": "its id is listed before, as 'a', and counts as that, here as 'b'",
        "kernel at 2": "id: Input should be a valid integer, not True",
    }


@pytest.mark.parametrize("count", [-1, 10**19, 1.5, True])
def test_a_count_out_of_range_is_absent_and_its_kernel_is_listed(count: Any) -> None:
    listing = answer("/kernels", {"kernels": [{"id": 1, "name": "a", "submission_count": count}]})
    names, records = read_kernel_listing(listing)
    assert names == {1: "a"}
    assert set_aside(records).keys() == {"submission_count of kernel 1"}
    assert submission_counts(listing) == {}


@pytest.mark.parametrize("body", [b"<html>", b'{"data": []}', b'{"data": {"kernels": {}}}', b"{}"])
def test_a_listing_that_can_t_be_read_is_refused(body: bytes) -> None:
    with pytest.raises(Unreadable):
        read_kernel_listing(page("/kernels", body))
