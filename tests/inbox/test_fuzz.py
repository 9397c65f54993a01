"""Pages spoilt at random: whatever comes in, both readers answer with what it says or with a sentence.

`KERNELINDEX_FUZZ_EXAMPLES` makes it go on for longer than the suite has time for.
"""

import json
import os
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assets.leaderboard.inbox import take_in
from assets.leaderboard.records import Unreadable
from assets.leaderboard.run_page import is_run_page, read_run_page
from assets.leaderboard.saved_text import SavedText, read_saved_text
from assets.leaderboard.submission_page import SubmissionPage, is_submission_page, read_submission_page
from assets.rankings.run_pages import COMPARED, verify
from assets.rankings.tables import opened
from pipelines.terminal import printable
from tests.inbox.pages import SEEDS, WRITTEN, flux, page, prepared, seed_html, seed_text, tables
from warehouse.home import Home

EXAMPLES = int(os.environ.get("KERNELINDEX_FUZZ_EXAMPLES", "60"))

SUBMISSION_PAGES = [write(page()) for write in WRITTEN.values()]
RUN_PAGES = [write(submission) for submission in SEEDS for write in (seed_text, seed_html)]
TOKENS = [
    "<", ">", "</", "<td>", "</td>", "<tr>", "</tr>", "<table>", "</table>", "<dl>", "<dt>", "<dd>",
    "<div>", "</div>", "<pre>", "</pre>", "<script>", "</script>", "<!--", "-->", "<![CDATA[", "]]>",
    "<time datetime='", "&", "&lt;", "&#0;", "&#x1f;", "&#9;", "&#xD800;", "&#1114112;", "\x00", "\x1f",
    "\x02", "\t", "\n", "\r", " ", "\u00a0", "\u2028", "\ufeff", "\U0001f680", "\u202e", "|", "--", ":",
    "=", ",", "…", "x", "×", ".", "-", "0", "9", "1e9", "-0", "NaN", "0.0000", "99999999999999999999",
    "٣", "²", "Kernel", "Kernel:", "Device", "User", "Mode", "Private", "Result", "WA", "SOL Score",
    "Evaluation Stack", "Evaluation Finished", "2026-09-15 09:16:06 UTC+08:00",
    "0001-01-01 00:00 +14:00", "Submission #1", "Workload", "Latency (ms)", "Latency (s)", "Baseline",
    "Speedup", "batch_size=2", "batch_size=4, seq_len=1024", "Run 1 · KernelIndex", "Identity",
    "Workload", "Canonical manifest", "project", "sha256:00", "Rank 1 ", '{"run":', "{", "}", "[", "]",
    '"', '"mean": 1', "null", "true", "\\ud800", "1e999", "SOL 1", "µs", "Published 9",
]  # fmt: skip


@st.composite
def spoilt(draw: st.DrawFn, whole: str) -> bytes:
    """A page with a few edits: cut, doubled, moved or strange pieces; in some encoding, some bytes wrong."""
    text = whole
    for _ in range(draw(st.integers(0, 8))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.sampled_from([0, 1, 2, 5, 20, 200, 10_000])))
        piece = text[start:end]
        at = draw(st.integers(0, len(text)))
        token = draw(st.sampled_from(TOKENS) | st.text(max_size=5))
        match draw(st.sampled_from(["cut", "double", "move", "insert", "replace", "repeat", "stretch"])):
            case "cut":
                text = text[:start] + text[end:]
            case "double":
                text = text[:at] + piece + text[at:]
            case "move":
                rest = text[:start] + text[end:]
                text = rest[:at] + piece + rest[at:]
            case "insert":
                text = text[:at] + token + text[at:]
            case "replace":
                text = text[:start] + token + text[end:]
            case "repeat":
                text = text[:at] + token * draw(st.integers(1, 300)) + text[at:]
            case "stretch":
                # Beyond the longest line that is looked at.
                long = draw(st.sampled_from("x0 =|é")) * draw(st.integers(4_000, 20_000))
                text = text[:at] + long + text[at:]
    encoding = draw(st.sampled_from(["utf-8"] * 6 + ["utf-8-sig", "utf-16", "latin-1", "utf-16-le"]))
    body = bytearray(text.encode(encoding, "replace"))
    for _ in range(draw(st.integers(0, 2))):
        if body:
            body[draw(st.integers(0, len(body) - 1))] = draw(st.integers(0, 255))
    return bytes(body)


# Little else is in these, so that a long line can be all that is left.
SHORT = ["", "Submission #10 ", "<title>Submission #10 </title>", "Run 1 · KernelIndex\nIdentity\n"]


def bodies(pages: list[str]) -> st.SearchStrategy[bytes]:
    return st.one_of(*map(spoilt, pages), st.sampled_from(SHORT).flatmap(spoilt), st.binary(max_size=300))


# A busy machine is no fault of the reader, so nothing here has a deadline; that is tried elsewhere.
fuzz = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.function_scoped_fixture,
    ],
)


@pytest.fixture(scope="module")
def held(sample_home: Home) -> Iterator[duckdb.DuckDBPyConnection]:
    with opened(sample_home, COMPARED) as connection:
        yield connection


def test_a_spoilt_submission_page_is_read_or_refused_in_words() -> None:
    became: Counter[str] = Counter()

    @fuzz
    @given(body=bodies(SUBMISSION_PAGES))
    def try_one(body: bytes) -> None:
        try:
            text = read_saved_text(body)
            is_submission_page(text)
            hold_to_the_page(text, read_submission_page(text))
            became["read"] += 1
        except Unreadable:
            became["refused"] += 1

    try_one()
    assert_both(became)


def assert_both(became: Counter[str]) -> None:
    """Where all pages are refused, or none is, little was tried."""
    assert min(became["read"], became["refused"]) >= became.total() // 20 > 0, became


def hold_to_the_page(text: SavedText, said: SubmissionPage) -> None:
    """What was read of a page is sound, and has no digit that the page does not show, in that order."""
    shown = "".join(character for character in "".join(text.lines) if character.isdecimal())
    assert 0 < len(said.cases) <= said.row_count
    for case in said.cases:
        assert Decimal(case["latency_ms"]) > 0
        assert all(type(value) is int for value in json.loads(case["axes"]).values())
        for name in ("latency_ms", "baseline_ms", "speedup", "sol_score"):
            if case[name] is not None:
                assert "".join(map(str, Decimal(case[name]).as_tuple().digits)).lstrip("0") in shown


def test_a_spoilt_run_page_is_compared_or_refused_in_words(held: duckdb.DuckDBPyConnection) -> None:
    became: Counter[str] = Counter()

    @fuzz
    @given(body=bodies(RUN_PAGES))
    def try_one(body: bytes) -> None:
        try:
            text = read_saved_text(body)
            is_run_page(text)
            checks = verify(held, read_run_page(text)).checks
            became["read"] += 1
        except Unreadable:
            became["refused"] += 1
            return
        for check in checks:
            printable(f"{check.page_value} {check.our_value} {check.note}").encode()
            if check.field.endswith("digest recomputed"):
                assert (check.verdict == "agrees") == (check.page_value == check.our_value)

    try_one()
    assert_both(became)


@settings(fuzz, max_examples=max(EXAMPLES // 4, 1))
@given(body=bodies(SUBMISSION_PAGES + RUN_PAGES[:2]))
def test_whatever_is_taken_in_ends_in_one_state_and_its_runs_are_as_many_as_it_says(body: bytes) -> None:
    with TemporaryDirectory() as directory:
        home = prepared(Home(Path(directory) / "home"), flux())
        file = Path(directory) / "page.html"
        file.write_bytes(body)
        take_in(home, file)
        made = tables(home)
    ((row),) = made["saved_pages"]
    assert not any("the reader failed" in set_aside["problem"] for set_aside in made["quarantine"])
    assert row["state"] in ("counted", "waiting", "private", "quarantined")
    assert row["case_runs"] == len(made["run_intervals"]) == len(made["runs"]) - 1
    assert made["quarantine"] or row["state"] in ("counted", "waiting")
