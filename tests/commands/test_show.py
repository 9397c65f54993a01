"""`kernelindex show`: KernelIndex's page of a run, line by line, and what that page lacks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.commands.asking import FLAGGED, HOSTILE, NO_RUN, OF_HOSTILE_NAME, RETRACTED, Kernelindex
from tests.inbox.pages import FLUX, SUBMISSION, seed_facts, seed_text
from warehouse.dossier import SOL_SCORE, fixed, latency, operation

# What stands on KernelIndex's pages and is not the run's: buttons of its own, to write to KernelIndex.
CHROME = ("Add a reproduction or note", "Report an issue with this run")


def expected(submission: str, rank: int, first_digits: str, fetched: str) -> list[str]:
    """The lines of a seed's page; where ours must differ, ours, with why."""
    facts = seed_facts()[submission]
    ours = {
        # KernelIndex's own number of the page, which no page of the source has.
        f"Run {facts['title']} · KernelIndex": f"Run {first_digits} · KernelIndex",
        # Among the runs that KernelIndex knew when it published the page.
        f"Rank {facts['rank']} in": f"Rank {rank} in",
        # The day on which each of the two made the page known.
        f"Published {facts['published']}": f"Published {fetched}",
        # A link there; here the citation itself follows.
        "Cite this record (permalink, digest, access date)": "Cite this record",
    }
    page = seed_text(submission)
    for theirs, own in ours.items():
        assert page.count(theirs) == 1
        page = page.replace(theirs, own)
    return [line for line in page.splitlines() if line.strip() and line not in CHROME]


@pytest.mark.parametrize(("submission", "rank"), [("165", 1), ("3268", 1), ("26346", 3)])
def test_a_seed_is_shown_line_by_line(kernelindex: Kernelindex, submission: str, rank: int) -> None:
    ended = kernelindex("show", submission)
    run = kernelindex("show", submission, "--json").json
    digits = run["run_digest"].removeprefix("sha256:")[:8]
    assert run["run_digest"].startswith(seed_facts()[submission]["digest"])

    # Copied from a screen, labels and values have no blank between them, and links run together.
    shown = ended.text.translate({ord(blank): None for blank in " \n"})
    at = 0
    for line in expected(submission, rank, digits, run["published_at"][:10]):
        found = shown.find("".join(line.split()), at)
        assert found >= 0, line
        at = found + len("".join(line.split()))
    assert ended.code == 0


def test_it_cites_our_digest_the_page_and_the_date_of_access(kernelindex: Kernelindex) -> None:
    ended = kernelindex("show", "3268")
    run = kernelindex("show", "3268", "--json").json
    citation = ended.lines[ended.lines.index("Cite this record") + 1]
    assert citation.startswith("doubleAI, submission-3268: 014_audio_encoder_varlen_attention")
    assert run["run_digest"] in citation
    assert f"/submissions?kernel_id=108 ({run['page_digest']}), fetched" in citation
    assert "Accessed 20" in citation


def test_a_run_that_people_retracted_says_why_it_is_not_ranked(kernelindex: Kernelindex) -> None:
    text = kernelindex("show", RETRACTED).text
    assert "Not ranked: RETRACTED · source-native comparison · observed 2026-07" in text
    assert "retract · 2026-09-01 · Ada Lovelace · It reads the answer. · https://example.org/1" in text
    assert "RETRACTED since 2026-09-01" in text


def test_what_people_attest_is_shown_and_changes_no_level(kernelindex: Kernelindex) -> None:
    text = kernelindex("show", RETRACTED).text
    assert "No attestations yet." not in text
    assert "does not bear the run out · 1.20 ms · https://example.org/1" in text
    assert "Not on my\ufffd[31m machine." in text
    assert "evidence level  reported" in text.replace("       ", "  ")


def test_a_run_that_is_too_fast_waits_for_review(kernelindex: Kernelindex) -> None:
    text = kernelindex("show", FLAGGED).text
    assert "12 ns mean" in text
    assert "Not ranked: HELD_FOR_REVIEW" in text
    assert "BELOW_CASE_BOUND · 12 ns, bound" in text


def test_a_saved_page_gives_a_run_its_cases(kernelindex: Kernelindex) -> None:
    run = kernelindex("show", SUBMISSION, "--json").json
    assert len(run["cases"]) == 16
    case = run["cases"][0]
    text = kernelindex("show", SUBMISSION).text
    assert f"case {case['workload']}" in text
    assert f"{latency(case['latency_ms'] * 1e6)} · {fixed(case['speedup'], 2)}× reference" in text


def test_how_far_a_run_is_from_the_speed_of_light(kernelindex: Kernelindex) -> None:
    lines = [" ".join(line.split()) for line in kernelindex("show", "26346").lines]
    start = lines.index("Speed of light")
    assert lines[start + 1 : start + 5] == [
        "bound 113.4 µs, a geometric mean over the workloads",
        "times the bound 4.29×",
        "scoring baseline 584.5 µs, a geometric mean too",
        "gap closed 20.9% of the way from the baseline to the bound",
    ]
    assert lines.index(f"SOL: {SOL_SCORE}.") == 1 + lines.index(
        "SOL 0.5542 · 1.22× reference · 15/16 cases faster"
    )
    assert "tags rope, model:deephermes-3-mistral-24b-preview, L2" in lines
    run = kernelindex("show", "26346", "--json").json
    assert run["ratio_to_bound"] == pytest.approx(run["latency_ms"] / run["sol_bound_ms"])


def test_means_over_a_suite_are_not_held_against_a_run_on_one_case(kernelindex: Kernelindex) -> None:
    case = kernelindex("show", SUBMISSION, "--json").json["cases"][0]
    run = kernelindex("show", f"{SUBMISSION}/{case['case_id']}", "--json").json
    assert (run["sol_bound_ms"], run["baseline_ms"], run["share_of_gap_closed"]) == (None, None, None)


def test_a_run_on_one_case_has_a_dossier_too(kernelindex: Kernelindex) -> None:
    case = kernelindex("show", SUBMISSION, "--json").json["cases"][0]
    ended = kernelindex("show", f"{SUBMISSION}/{case['case_id']}")
    assert f"case {case['case_id']} · mean latency" in ended.text
    assert "sol_execbench_submission_page" in ended.text
    assert "before rounding" in ended.text
    assert ended.code == 0


def test_a_run_is_found_by_the_start_of_its_digest(kernelindex: Kernelindex) -> None:
    for name in ("sha256:1b9cb94e", "1b9cb94e", "1B9CB94E"):
        assert "submission/3268" in kernelindex("show", name).text


def test_of_several_runs_that_are_meant_each_is_listed(kernelindex: Kernelindex) -> None:
    ended = kernelindex("show", "sha256:1")
    assert ended.code == 1
    assert "write more of it" in ended.complaint
    assert "3268  doubleAI  014_audio_encoder_varlen_attention_with_chunking_backward" in ended.complaint


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("3269", "there is no submission 3269 here; the nearest are 3268, "),
        (str(NO_RUN), f"submission {NO_RUN} is no run: INCORRECT"),
        ("doubleAI", "no run is called doubleAI: give a submission's id, as 3268"),
        ("sha256:00000000", "no run is called sha256:00000000"),
        ("%", "no run is called %"),
        ("9" * 40, "no run is called 999"),
    ],
)
def test_a_run_that_is_not_there_is_answered_by_what_to_do(
    kernelindex: Kernelindex, name: str, said: str
) -> None:
    ended = kernelindex("show", name)
    assert ended.code == 1
    assert said in ended.complaint
    assert not ended.written


def test_json_has_all_that_is_known_of_the_run(kernelindex: Kernelindex) -> None:
    run = kernelindex("show", RETRACTED, "--json").json
    assert (run["submission_id"], run["rank"], run["reasons"]) == (RETRACTED, None, ["RETRACTED"])
    assert run["manifest"]["spec"]["sourceNative"]["externalId"] == str(RETRACTED)
    assert run["decisions"][0]["decided_at"] == "2026-09-01T00:00:00Z"
    assert [attestation["kind"] for attestation in run["attestations"]] == ["replication", "note"]


def test_names_do_nothing_to_a_terminal(kernelindex: Kernelindex) -> None:
    text = kernelindex("show", OF_HOSTILE_NAME).text
    assert "Mal\ufffd[31mory [bold]=cmd()|`x`\ufffd1  <script>" in text
    assert all(character.isprintable() or character == "\n" for character in text)


def test_names_stay_what_they_are_in_json(kernelindex: Kernelindex) -> None:
    ended = kernelindex("show", OF_HOSTILE_NAME, "--json")
    assert ended.json["project"] == HOSTILE
    assert ended.text.isascii()


@pytest.mark.parametrize(
    ("ns", "shown"),
    [
        (255_422, "255.4 µs"),
        (1_093_964, "1.09 ms"),
        (485_961, "486.0 µs"),
        (12, "12 ns"),
        (999, "999 ns"),
        (1_250, "1.3 µs"),
        (999_960, "1.00 ms"),
        (999_995_000, "1.00 s"),
        (75_500_000_000, "75.50 s"),
    ],
)
def test_a_latency_is_shown_in_the_unit_that_fits(ns: int, shown: str) -> None:
    assert latency(ns) == shown


@given(st.integers(0, 2**63 - 1))
def test_a_latency_as_shown_is_off_by_half_a_digit_at_most(ns: int) -> None:
    number, unit = latency(ns).split()
    size = {"ns": 1, "µs": 10**3, "ms": 10**6, "s": 10**9}[unit]
    digits = len(number.partition(".")[2])
    assert abs(float(number) * size - ns) <= size * 0.5 * 10**-digits + 1e-9 * ns


def test_halves_go_up() -> None:
    assert [fixed(number, 1) for number in (0.25, 0.75, 2.5)] == ["0.3", "0.8", "2.5"]


@pytest.mark.parametrize(
    ("kernel", "shown"),
    [
        ("003_grouped_query_attention_with_rope_backward", "Grouped query attention with RoPE backward"),
        (FLUX, "Flux multi head rmsnorm qk"),
        ("plain", "Plain"),
        ("12_", ""),
    ],
)
def test_an_operation_is_named_for_people(kernel: str, shown: str) -> None:
    assert operation(kernel) == shown


def test_the_view_has_a_row_for_each_run(kernelindex: Kernelindex) -> None:
    counts = (
        "select (select count(*) from runs), (select count(*) from run_dossier), "
        "(select count(distinct run_digest) from run_dossier)"
    )
    (counted,) = kernelindex("sql", counts, "--format", "json").json
    assert len(set(counted.values())) == 1
