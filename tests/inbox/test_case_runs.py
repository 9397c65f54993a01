"""From submission pages to runs on single cases, and the page against the API."""

import json
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from assets.leaderboard.inbox import take_in
from assets.manifests.case_runs import make_case_runs
from assets.manifests.identity import key_of
from assets.manifests.normalise import CASE_CORRECTNESS_KEY
from tests.examples import Kernel, Row, recorded
from tests.inbox.pages import (
    FLUX,
    SUBMISSION,
    WRITTEN,
    Page,
    case_runs,
    flux,
    measured,
    page,
    prepared,
    published,
    read,
    tables,
)
from warehouse.home import Home

Tables = dict[str, list[Row]]


def read_one(home: Home, shown: Page, kernel: Kernel | None = None) -> Tables:
    """All tables, after one page was taken in where the kernel is known."""
    prepared(home, kernel or flux())
    read(home, shown.html())
    return tables(home)


def quarantined(made: Tables) -> dict[str, str]:
    return {row["item"]: row["problem"] for row in made["quarantine"]}


def state(made: Tables) -> tuple[str, str | None, int]:
    (row,) = made["saved_pages"]
    return row["state"], row["waits_for"], row["case_runs"]


def test_with_an_empty_inbox_everything_is_as_before(home: Home) -> None:
    made = tables(prepared(home, flux()))
    assert len(made["runs"]) == 1
    assert not home.case_runs.exists()
    names = ("saved_pages", "page_cases", "run_intervals", "page_disagreements", "run_page_checks")
    assert not any(made[name] for name in names)


def test_each_row_is_a_run_on_its_case(home: Home) -> None:
    made = read_one(home, page())
    (suite,) = [run for run in made["runs"] if run["external_id"] == str(SUBMISSION)]
    runs = case_runs(made)
    cases = {row["workload_digest"]: row for row in made["workloads"] if row["kind"] == "case"}
    assert {run["workload_digest"] for run in runs} == cases.keys()
    assert len(runs) == 16
    shown = {row[0]: row for row in page().rows}
    for run in runs:
        case = cases[run["workload_digest"]]
        axes = json.loads(case["axes"])
        row = shown[f"batch_size={axes['batch_size']}, seq_len={axes['seq_len']}"]
        assert run["external_id"] == f"{SUBMISSION}/{case['external_id']}"
        assert run["primary_value"] == int(Decimal(row[1]) * 1_000_000)
        assert run["latency_ms"] == float(row[1])
        assert run["sol_score"] == float(row[4])
        assert f"{run['avg_speedup']:.2f}x" == row[3]
        assert run["status"] == "passed"
        assert run["observed_at"].isoformat() == "2026-09-15T01:16:06+00:00"
        assert (run["fast_1_count"], run["fast_1_total"], run["worker"]) == (None, None, None)
        for name in ("implementation_digest", "environment_digest", "operation_digest"):
            assert run[name] == suite[name]
        for name in ("protocol_digest", "comparison_key", "correctness_key"):
            assert run[name] != suite[name]


def test_a_case_run_is_a_manifest_as_any_other(home: Home) -> None:
    made = read_one(home, page())
    run = next(run for run in case_runs(made) if run["latency_ms"] == float(page().rows[0][1]))
    manifest = json.loads(run["manifest"])
    assert run["run_digest"] == key_of({name: manifest[name] for name in ("apiVersion", "kind", "spec")})
    assert manifest["spec"] == {
        "implementationDigest": run["implementation_digest"],
        "workloadDigest": run["workload_digest"],
        "protocolDigest": run["protocol_digest"],
        "environmentDigest": run["environment_digest"],
        "status": "passed",
        "timing": {"primaryStatistic": "mean", "latencyNs": {"mean": run["primary_value"]}},
        "sourceNative": {
            "source": "sol-execbench",
            "benchmark": FLUX,
            "externalId": run["external_id"],
            "metrics": {
                "latency_ms": float(page().rows[0][1]),
                "sol_score": float(page().rows[0][4]),
                "avg_speedup": float(page().rows[0][3][:-1]),
            },
        },
        "observedAt": "2026-09-15T01:16:06.000Z",
    }
    (protocol,) = [
        json.loads(row["manifest"])
        for row in made["protocols"]
        if row["protocol_digest"] == run["protocol_digest"]
    ]
    assert protocol["spec"]["harness"] == {"name": "SOL-ExecBench evaluation stack", "version": "v1.1"}
    assert protocol["spec"]["comparability"]["family"] == "sol_execbench_submission_page"
    assert (
        run["correctness_key"]
        == CASE_CORRECTNESS_KEY
        == key_of({"correctness": {"comparator": "sol_execbench_eval"}})
    )
    assert run["comparison_key"] == key_of(
        {
            "v": 1,
            "operation": run["operation_digest"],
            "workload": run["workload_digest"],
            "protocol": run["protocol_digest"],
            "environment": run["environment_digest"],
            "correctness": run["correctness_key"],
            "metric": "latency:mean:ns",
        }
    )


def test_case_runs_form_groups_of_their_own(home: Home) -> None:
    read_one(home, page())
    made = published(home)
    assert len(made["comparison_groups"]) == 17
    assert all(
        row["run_count"] == 1 and row["profile"] == "source-native" for row in made["comparison_groups"]
    )
    assert all(row["rank"] == 1 for row in made["rankings"])
    assert not made["flags"]
    assert not made["exclusions"]


def test_the_interval_is_what_rounding_left_and_no_digit_more(home: Home) -> None:
    rows = [list(row) for row in page().rows]
    rows[0][1], rows[1][1], rows[2][1] = "0.0069", "0.1", "0.00691234"
    made = read_one(home, page().with_rows(rows))
    intervals = {row["run_digest"]: (row["low"], row["high"]) for row in made["run_intervals"]}
    found = {
        run["latency_ms"]: (run["primary_value"], *intervals[run["run_digest"]]) for run in case_runs(made)
    }
    assert len(intervals) == 16
    assert found[0.0069] == (6_900, 6_850, 6_950)
    assert found[0.1] == (100_000, 50_000, 150_000)
    # Whole nanoseconds are as fine as a mean can be: the interval takes it in.
    assert found[0.00691234] == (6_912, 6_912, 6_912.345)


def test_rows_that_name_no_case_or_several_are_set_aside_and_the_page_still_counts(home: Home) -> None:
    rows = [list(row) for row in page().rows]
    rows[2][0] = "batch_size=4"
    rows[3][0] = "batch_size=4, seq_len=1025"
    rows[4][0] = "batch_size=8, seq_len=128, depth=2"
    made = read_one(home, page().with_rows(rows))
    assert state(made) == ("counted", None, 13)
    assert quarantined(made) == {
        "row 3": "'batch_size=4' names 4 workloads of the kernel",
        "row 4": "'batch_size=4, seq_len=1025' names no workload of the kernel",
        "row 5": "'batch_size=8, seq_len=128, depth=2' names no workload of the kernel",
    }
    unmatched = [row["position"] for row in made["page_cases"] if row["run_digest"] is None]
    assert unmatched == [3, 4, 5]


def test_constant_axes_may_be_named_too_and_must_then_be_right(home: Home) -> None:
    rows = [[f"head_dim=128, {row[0]}, num_heads=48", *row[1:]] for row in page().rows]
    rows[0][0] = rows[0][0].replace("128", "64", 1)
    made = read_one(home, page().with_rows(rows))
    assert state(made) == ("counted", None, 15)
    assert "row 1" in quarantined(made)


def test_axes_in_upper_case_are_those_of_the_kernel(home: Home) -> None:
    kernel = recorded("004_gemm_n128_k2048")
    cases = measured(kernel, constant=("N", "K"))
    kernel.submissions = []
    shown = page().but(kernel="004_gemm_n128_k2048").with_rows(case.cells() for case in cases)
    made = read_one(home, shown, kernel)
    assert state(made) == ("waiting", "submission", len(kernel.workloads))
    assert shown.rows[0][0].startswith("M=")


def test_a_row_that_stands_more_often_than_its_workload_is_listed_is_set_aside(home: Home) -> None:
    made = read_one(home, page().with_rows([*page().rows, page().rows[0]]))
    assert state(made) == ("counted", None, 15)
    assert quarantined(made).keys() == {"row 1", "row 17"}
    assert "stands 2 times, and the kernel lists it 1" in quarantined(made)["row 1"]


def test_a_workload_that_is_listed_several_times_has_as_many_runs_in_whatever_order(
    home: Home, tmp_path: Path
) -> None:
    kernel = recorded("016_rope_inverse_frequency_computation")
    kernel.submissions = []
    axes = kernel.workloads[0]["axes"]
    constant = [name for name, axis in kernel.definition["axes"].items() if axis["type"] == "const"]
    rows = [case.cells() for case in measured(kernel, constant)]
    rows = [[row[0] or ", ".join(f"{name}={axes[name]}" for name in axes), *row[1:]] for row in rows]
    shown = page().but(kernel=kernel.definition["name"]).with_rows(rows)
    made = read_one(home, shown, kernel)
    assert state(made) == ("waiting", "submission", 16)
    ids = sorted(run["external_id"].split("/")[2:] for run in case_runs(made))
    assert ids == sorted([[]] + [[str(number)] for number in range(2, 17)])

    turned = read_one(Home(tmp_path / "turned"), shown.with_rows(reversed(rows)), kernel)
    digests = sorted(run["run_digest"] for run in case_runs(made))
    assert digests == sorted(run["run_digest"] for run in case_runs(turned))


def test_a_table_that_shows_less_than_all_counts_for_what_it_shows(home: Home) -> None:
    made = read_one(home, page().with_rows(page().rows[:10]))
    assert state(made) == ("counted", None, 10)
    assert "shows 10 of 16 workloads: had it finished loading?" in quarantined(made)["table"]
    assert not made["page_disagreements"]


@pytest.mark.parametrize(
    ("result", "made_runs"),
    [("AC", True), ("Accepted", True), ("WA", False), ("TLE", False), ("Pending", False)],
)
def test_only_an_accepted_submission_makes_runs(home: Home, result: str, made_runs: bool) -> None:
    made = read_one(home, page().but(result=result))
    assert state(made) == (("counted", None, 16) if made_runs else ("quarantined", None, 0))
    assert bool(quarantined(made)) is not made_runs
    if not made_runs:
        assert f"its result is {result!r}" in quarantined(made)["page"]


def test_of_a_page_whose_submission_is_not_public_at_the_leaderboard_nothing_is_told(home: Home) -> None:
    kernel = flux()
    kernel.submissions[0]["submission_mode"] = "private"
    made = read_one(home, page(), kernel)
    assert made["runs"] == []
    assert state(made) == ("private", None, 0)
    (row,) = made["saved_pages"]
    told = ("submission_id", "kernel_name", "finished_at", "sol_score")
    assert [row[name] for name in told] == [None] * 4
    assert quarantined(made) == {"page": "the leaderboard lists its submission as not public"}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"is_disqualified": True}, "DISQUALIFIED"),
        ({"is_correct": False}, "INCORRECT"),
        ({"status": "FAILED"}, "STATUS_FAILED"),
    ],
)
def test_a_submission_that_is_no_run_makes_no_case_runs(home: Home, change: Row, reason: str) -> None:
    kernel = flux()
    kernel.submissions[0] |= change
    made = read_one(home, page(), kernel)
    assert state(made) == ("quarantined", None, 0)
    assert f"is no run: {reason}" in quarantined(made)["page"]
    assert not case_runs(made)


@pytest.mark.parametrize("device", ["B200", "NVIDIA B200", "NVIDIA_B200"])
def test_a_gpu_is_the_same_by_all_its_names(home: Home, device: str) -> None:
    assert state(read_one(home, page().but(device=device))) == ("counted", None, 16)


@pytest.mark.parametrize(("label", "value"), [("device", "H100"), ("evaluation_stack", "v1.0")])
def test_a_page_that_contradicts_the_api_in_what_was_measured_makes_no_runs(
    home: Home, label: str, value: str
) -> None:
    made = read_one(home, page().but(**{label: value}))
    assert state(made) == ("quarantined", None, 0)
    assert value in quarantined(made)["page"]


def test_a_page_waits_for_its_kernel_then_for_its_submission_and_is_picked_up_by_the_next_run(
    home: Home,
) -> None:
    read(home, page().html())
    waiting = tables(home)
    assert state(waiting) == ("waiting", "kernel", 0)
    assert not waiting["quarantine"]

    unlisted = flux()
    unlisted.submissions = []
    early = tables(prepared(home, unlisted))
    assert state(early) == ("waiting", "submission", 16)

    known = tables(prepared(home, flux()))
    assert state(known) == ("counted", None, 16)
    digests = [sorted(run["run_digest"] for run in case_runs(made)) for made in (early, known)]
    assert digests[0] == digests[1]
    (suite,) = [run for run in known["runs"] if run["external_id"] == str(SUBMISSION)]
    assert {run["implementation_digest"] for run in case_runs(early)} == {suite["implementation_digest"]}


def test_an_unknown_submission_whose_user_can_not_be_read_makes_no_runs(home: Home) -> None:
    unlisted = flux()
    unlisted.submissions = []
    made = read_one(home, page().but(user=""), unlisted)
    assert "names no user" in quarantined(made)["page"]


def test_nothing_changes_where_nothing_is_new(home: Home) -> None:
    read_one(home, page())
    before = home.case_runs.read_bytes()
    assert not make_case_runs(home).changed
    assert home.case_runs.read_bytes() == before


@pytest.mark.parametrize("version", ["MATCHER_VERSION", "CODE_VERSION"])
def test_what_an_older_version_made_is_made_anew(
    home: Home, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    read_one(home, page())
    monkeypatch.setattr(f"assets.manifests.case_runs.{version}", "an older one")
    assert make_case_runs(home).changed
    monkeypatch.undo()
    assert make_case_runs(home).changed
    assert not make_case_runs(home).changed


def test_columns_and_details_that_nobody_knows_are_drift(home: Home) -> None:
    more = Page(
        details={"Status": "Accepted", "Reviewer": "nobody", **page().details},
        columns=(*page().columns, "Memory"),
        rows=tuple((*row, "1") for row in page().rows),
    )
    made = read_one(home, more)
    assert [(row["field"], row["change"]) for row in made["drift"]] == [
        ("details.Reviewer", "appeared"),
        ("results.Memory", "appeared"),
    ]
    assert state(made) == ("counted", None, 16)


def test_a_page_that_is_right_agrees_with_the_api(home: Home) -> None:
    assert read_one(home, page())["page_disagreements"] == []


@pytest.mark.parametrize(
    ("field", "by"), [("latency_ms", 0.0005), ("sol_score", 0.0001), ("fast_1_count", 3)]
)
def test_what_the_api_says_differently_is_a_disagreement(home: Home, field: str, by: float) -> None:
    kernel = flux()
    kernel.submissions[0][field] += by
    ((row),) = read_one(home, page(), kernel)["page_disagreements"]
    assert row["field"] == field
    assert row["submission_id"] == SUBMISSION
    assert float(row["api_value"]) == kernel.submissions[0][field]
    assert row["difference"] == pytest.approx(-by, rel=0.1)
    assert 0 <= row["tolerance"] < by


@pytest.mark.parametrize(("field", "by"), [("latency_ms", 0.00001), ("sol_score", 0.0000004)])
def test_what_rounding_can_explain_is_none(home: Home, field: str, by: float) -> None:
    kernel = flux()
    kernel.submissions[0][field] += by
    assert read_one(home, page(), kernel)["page_disagreements"] == []


def test_a_baseline_that_was_measured_anew_is_a_disagreement_of_its_case(home: Home) -> None:
    kernel = flux()
    kernel.workloads[5]["baseline_latency_ms"] += 0.0002
    made = read_one(home, page(), kernel)
    ((row),) = made["page_disagreements"]
    case = next(
        case["external_id"]
        for case in made["workloads"]
        if case["axes"] and json.loads(case["axes"]) == kernel.workloads[5]["axes"]
    )
    assert row["field"] == f"baseline_ms of case {case}"
    assert float(row["page_value"]) == float(page().rows[5][2])


def test_the_score_that_the_page_shows_is_the_mean_of_its_cases_or_a_disagreement(home: Home) -> None:
    made = read_one(home, page().but(sol_score="0.999999"))
    ((row),) = made["page_disagreements"]
    assert (row["field"], row["api_value"]) == ("shown_sol_score", "0.999999")


def test_another_name_of_the_user_is_a_disagreement_and_the_api_counts(home: Home) -> None:
    made = read_one(home, page().but(user="Renamed"))
    ((row),) = made["page_disagreements"]
    assert (row["field"], row["page_value"], row["api_value"]) == ("user", "Renamed", "Byte-Naut")
    assert [project["name"] for project in made["projects"]] == ["Byte-Naut"]


def test_what_a_page_does_not_show_is_not_compared(home: Home) -> None:
    rows = [(row[0], row[1], "-", "-", "-") for row in page().rows]
    made = read_one(home, page().with_rows(rows))
    assert made["page_disagreements"] == []
    assert state(made) == ("counted", None, 16)
    assert all(run["sol_score"] is None and run["avg_speedup"] is None for run in case_runs(made))


def test_views_show_each_case_and_where_a_submission_wins_and_loses(home: Home) -> None:
    kernel = flux()
    other = {**kernel.submissions[0], "id": 50_000, "username": "Slower", "latency_ms": 1.0}
    kernel.submissions.append(other)
    rows = [list(row) for row in page().rows]
    rows[0][1], rows[1][1] = "0.0001", "9.0000"
    prepared(home, kernel)
    read(home, page().html(), "a.html")
    read(
        home,
        Page(
            title="Submission #50000", details=page().but(user="Slower").details, rows=tuple(map(tuple, rows))
        ).html(),
        "b.html",
    )
    made = published(home)
    with duckdb.connect(home.warehouse, read_only=True) as warehouse:
        assert warehouse.sql("select count(*) from case_leaderboard").fetchall() == [(32,)]
        firsts = warehouse.sql(
            "select project, latency_ms, least_latency_ms, most_latency_ms from case_leaderboard "
            "where axes ->> 'seq_len' = '128' and axes ->> 'batch_size' = '2' and rank = 1"
        ).fetchall()
        assert firsts == [("Slower", 0.0001, pytest.approx(0.00005), pytest.approx(0.00015))]
        outcomes = warehouse.sql(
            "select outcome, count(*) from case_against_head where submission_id = 50000 "
            "and head_submission_id = 47128 and head_suite_rank = 1 group by all order by all"
        ).fetchall()
        assert outcomes == [("loses", 1), ("too close to say", 14), ("wins", 1)]
        assert warehouse.sql("select count(*) from case_against_head").fetchall() == [(16,)]
        # The suites' views have none of it.
        assert warehouse.sql("select count(*), max(rank) from leaderboard").fetchall() == [(2, 2)]
        assert warehouse.sql("select sum(groups) from standings").fetchall() == [(2,)]
    assert len(made["comparison_groups"]) == 17


@pytest.mark.parametrize("written", WRITTEN)
def test_all_ways_of_saving_make_the_same_runs(home: Home, written: str) -> None:
    prepared(home, flux())
    read(home, WRITTEN[written](page()))
    made = tables(home)
    assert state(made) == ("counted", None, 16)
    assert made["page_disagreements"] == []


def test_the_real_page_becomes_16_case_runs_whose_mean_score_is_the_one_it_shows(
    archive: Path, home: Home
) -> None:
    kernel = recorded(FLUX)
    prepared(home, kernel)
    take_in(home, archive.parent / "pages" / "submission-47128.html")
    made = tables(home)
    assert state(made) == ("waiting", "submission", 16)
    assert made["page_disagreements"] == []
    assert quarantined(made) == {}
    (shown,) = made["saved_pages"]
    scores = [run["sol_score"] for run in case_runs(made)]
    assert round(sum(scores) / 16, 6) == shown["sol_score"] == 0.577614
