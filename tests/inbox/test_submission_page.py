"""Reading submission pages: however they were saved, and whatever is wrong with them."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from assets.leaderboard import submission_page
from assets.leaderboard.records import Unreadable
from assets.leaderboard.saved_text import read_saved_text, visible
from assets.leaderboard.submission_page import SubmissionPage, is_submission_page, read_submission_page
from tests.inbox.pages import FLUX, SUBMISSION, WRITTEN, Page, page


def read(text: str | bytes) -> SubmissionPage:
    saved = read_saved_text(text if isinstance(text, bytes) else text.encode())
    assert is_submission_page(saved)
    return read_submission_page(saved)


def refused(text: str | bytes) -> str:
    with pytest.raises(Unreadable) as problem:
        read(text)
    return str(problem.value)


def cells(page: SubmissionPage) -> list[tuple[str, ...]]:
    """What was read of each row, as the page shows it."""
    return [
        (row["workload"], row["latency_ms"], row["baseline_ms"], f"{row['speedup']}x", row["sol_score"])
        for row in page.cases
    ]


@pytest.mark.parametrize("written", WRITTEN)
def test_a_page_says_the_same_however_it_was_saved(written: str) -> None:
    said = read(WRITTEN[written](page()))
    assert cells(said) == list(page().rows)
    assert said.row_count == 16
    assert (said.problems, said.unknown) == ([], [])
    assert said.details == {
        "submission_id": SUBMISSION,
        "status": "Accepted",
        "evaluation_stack": "v1.1",
        "kernel": FLUX,
        "device": "B200",
        "user": "Byte-Naut",
        "mode": "Public",
        "submitted_at": datetime(2026, 9, 15, 1, 15, 29, tzinfo=UTC),
        "evaluation_started": datetime(2026, 9, 15, 1, 15, 31, tzinfo=UTC),
        "evaluation_finished": datetime(2026, 9, 15, 1, 16, 6, tzinfo=UTC),
        "submitted_file": "solution.json",
        "result": "AC",
        "sol_score": page().details["SOL Score"],
    }


def test_axes_are_read_in_lower_case() -> None:
    said = read(page().with_rows([("Batch_Size=2, M=-1", *page().rows[0][1:])]).text())
    assert said.cases[0]["axes"] == '{"batch_size":2,"m":-1}'


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-09-15 09:16:06 UTC+08:00", datetime(2026, 9, 15, 1, 16, 6, tzinfo=UTC)),
        ("2026-09-14T18:16:06.5-07:00", datetime(2026, 9, 15, 1, 16, 6, 500_000, tzinfo=UTC)),
        ("2026-09-15 01:16:06 UTC", datetime(2026, 9, 15, 1, 16, 6, tzinfo=UTC)),
        ("2026-09-15 01:16Z", datetime(2026, 9, 15, 1, 16, tzinfo=UTC)),
        ("2026-09-15 06:46:06 GMT+5:30", datetime(2026, 9, 15, 1, 16, 6, tzinfo=UTC)),
    ],
)
def test_times_with_offsets_become_utc(text: str, time: datetime) -> None:
    said = read(page().but(evaluation_finished=text).text())
    assert said.details["evaluation_finished"] == time


def test_the_time_for_machines_counts_where_the_one_for_people_has_no_offset() -> None:
    text = page().but(evaluation_finished="yesterday at 1").html()
    marked = text.replace(
        "<dd>yesterday at 1", '<dd><time datetime="2026-09-15T09:16:06+08:00">yesterday</time>'
    )
    assert read(marked).details["evaluation_finished"] == datetime(2026, 9, 15, 1, 16, 6, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        *("2026-09-15 09:16:06", "15.09.2026 09:16 UTC", "2026-13-01 00:00 Z"),
        *("0001-01-01 00:00 +14:00", "9999-12-31 23:59:59 UTC"),
    ],
)
def test_a_time_without_a_zone_or_out_of_range_is_none_and_the_page_still_counts(text: str) -> None:
    said = read(page().but(evaluation_finished=text).html())
    assert said.details["evaluation_finished"] is None
    assert said.problems == [
        (
            "evaluation finished",
            f"{text!r} is no time of 1970 to 2261 with an offset, like 2026-09-15 09:16:06 UTC+08:00",
        )
    ]
    assert len(said.cases) == 16


@pytest.mark.parametrize("written", WRITTEN)
def test_columns_may_come_in_any_order(written: str) -> None:
    order = (4, 1, 3, 0, 2)
    turned = replace(
        page(),
        columns=tuple(page().columns[place] for place in order),
        rows=tuple(tuple(row[place] for place in order) for row in page().rows),
    )
    assert cells(read(WRITTEN[written](turned))) == list(page().rows)


@pytest.mark.parametrize("written", ["html", "text", "text with bars", "text, a line a cell"])
def test_columns_that_nobody_knows_are_drift(written: str) -> None:
    more = replace(
        page(),
        columns=(*page().columns, "Peak Memory"),
        rows=tuple((*row, "12 MiB") for row in page().rows),
    )
    said = read(WRITTEN[written](more))
    assert cells(said) == list(page().rows)
    assert said.unknown == ["results.Peak Memory"]


def test_details_that_nobody_knows_are_drift() -> None:
    more = replace(page(), details={"Status": "Accepted", "Reviewer": "nobody", **page().details})
    assert read(more.html()).unknown == ["details.Reviewer"]
    assert read(more.html_of_tables()).unknown == ["details.Reviewer"]


@pytest.mark.parametrize("written", WRITTEN)
def test_fewer_columns_quarantine_the_page_and_say_which(written: str) -> None:
    fewer = replace(page(), columns=page().columns[:2] + page().columns[3:])
    fewer = fewer.with_rows(row[:2] + row[3:] for row in page().rows)
    assert "no column Baseline" in refused(WRITTEN[written](fewer))


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("kernel", "Kernel"),
        ("device", "Device"),
        ("result", "Result"),
        ("evaluation_stack", "Evaluation Stack"),
    ],
)
def test_a_page_that_does_not_say_what_was_measured_is_refused(label: str, shown: str) -> None:
    assert f"shows no {shown}" in refused(page().but(**{label: ""}).html())


def test_a_table_that_had_not_finished_loading_is_refused_in_words() -> None:
    for text in (
        page().with_rows([]).html(),
        page().with_rows([("Loading…",)]).html(),
        page().with_rows([("", "", "", "", "")] * 5).html(),
        page().with_rows([(row[0], "—", "—", "—", "—") for row in page().rows]).html(),
        page().with_rows([]).text(),
        page().html().partition("<table>")[0],
        page().text().partition("Workload")[0],
    ):
        assert "had it finished loading?" in refused(text)


def test_rows_that_had_not_loaded_are_set_aside_alone() -> None:
    rows = [*page().rows[:10], *((row[0], "…", "…", "…", "…") for row in page().rows[10:])]
    said = read(page().with_rows(rows).html())
    assert cells(said) == list(page().rows[:10])
    assert [item for item, _ in said.problems] == [f"row {number}" for number in range(11, 17)]


@pytest.mark.parametrize(
    ("cell", "value", "why"),
    [
        (1, "0,0069", "is no number"),
        (1, "0.0000", "had the table finished loading?"),
        (1, "-0.0069", "is no number"),
        (1, "NaN", "is no number"),
        (1, "1e-333", "is no number"),
        (1, "٣0.0069", "is no number"),  # An Arabic three.
        (1, "0.0069 minutes", "is no number"),
        (2, "fast", "is no number"),
        (3, "much", "is no number"),
        (4, "<b>1</b>", "is no number"),
        (0, "the first", "names no axes"),
        (0, "batch_size=2, batch_size=3", "names an axis twice"),
        (0, "batch_size=99999999999999999999", "names no axes"),
    ],
)
def test_a_row_that_can_not_be_read_is_set_aside_alone(cell: int, value: str, why: str) -> None:
    rows = [list(row) for row in page().rows]
    rows[3][cell] = value
    said = read(page().with_rows(rows).html())
    assert len(said.cases) == 15
    ((item, problem),) = said.problems
    assert item == "row 4"
    assert why in problem


def test_a_number_that_a_page_does_not_show_is_absent() -> None:
    rows = [(row[0], row[1], "-", "N/A", "") for row in page().rows]
    first = read(page().with_rows(rows).html()).cases[0]
    assert (first["baseline_ms"], first["speedup"], first["sol_score"]) == (None, None, None)


@pytest.mark.parametrize(
    ("column", "shown", "latency_ms", "exponent"),
    [
        ("Latency (µs)", "6.9", "0.0069", -4),
        ("Latency [ns]", "6900", "0.006900", -6),
        ("Latency (s)", "1", "1E+3", 3),
        ("Latency", "6.90 us", "0.00690", -5),
        ("Latency (ms)", "6.9 ms", "6.9", -1),
    ],
)
def test_latencies_become_milliseconds_and_keep_the_digits_they_had(
    column: str, shown: str, latency_ms: str, exponent: int
) -> None:
    columns = ("Workload", column, *page().columns[2:])
    rows = [(row[0], shown, *row[2:]) for row in page().rows]
    said = read(replace(page(), columns=columns).with_rows(rows).html())
    assert said.cases[0]["latency_ms"] == latency_ms
    assert Decimal(latency_ms).as_tuple().exponent == exponent


def test_a_latency_without_a_unit_is_none() -> None:
    columns = ("Workload", "Latency", *page().columns[2:])
    assert "no unit" in refused(replace(page(), columns=columns).html())


def test_a_page_that_was_cut_off_within_a_number_gives_none_for_it() -> None:
    for whole in (page().html(), page().text().removesuffix("\nTerms")):
        end = whole.rindex(page().rows[-1][4]) + 4  # of 0.604474, this leaves 0.60
        said = read(whole[:end])
        assert cells(said) == list(page().rows[:-1])
        assert said.problems == [
            ("row 16", "the page ends within it: a number has fewer digits than all above it")
        ]


def test_a_page_that_was_cut_off_within_a_row_gives_the_rows_before() -> None:
    for written, mark in (("html", "<td>"), ("text", "\t"), ("text, a line a cell", "\n\n")):
        whole = WRITTEN[written](page())
        start = whole.index(page().rows[9][0])
        said = read(whole[: whole.index(mark, start) + len(mark) + 4])
        assert cells(said) == list(page().rows[:9])
        assert [item for item, _ in said.problems] == ["row 10"]


def test_parts_of_a_page_may_come_in_another_order() -> None:
    text = page().html()
    start, end = text.index("<dl>"), text.index("</dl>") + 5
    moved = text[:start] + text[end:].replace("<footer>", f"{text[start:end]}<footer>")
    said = read(moved)
    assert said.details["kernel"] == FLUX
    assert cells(said) == list(page().rows)


def test_a_table_for_another_screen_with_the_same_rows_counts_once_and_with_others_not_at_all() -> None:
    text = page().html()
    table = text[text.index("<table>") : text.index("</table>") + 8]
    assert cells(read(text.replace("<footer>", f"{table}<footer>"))) == list(page().rows)
    other = table.replace(page().rows[0][1], "9.9999", 1)
    assert "two tables" in refused(text.replace("<footer>", f"{other}<footer>"))


def test_a_header_that_is_a_table_of_its_own_belongs_to_the_one_below() -> None:
    text = page().html().replace("</thead>", "</thead></table><table>")
    assert cells(read(text)) == list(page().rows)


def test_a_page_that_says_two_things_of_its_kernel_is_refused() -> None:
    text = page().html().replace("</dl>", "<dt>Kernel</dt><dd>another</dd></dl>")
    assert "two things of its Kernel" in refused(text)


@pytest.mark.parametrize("written", ["html", "divs", "tables", "text"])
@pytest.mark.parametrize(
    "user",
    [
        "<script>alert(1)</script>",
        "Kernel: 001_other",
        "Submission #1",
        "Workload Latency Baseline Speedup SOL Score",
        "a | b | c",
        "Robert'); DROP TABLE runs;--",
        "=cmd|' /C calc'!A0",
        "陳 大文 🚀",
        "&lt;b&gt;",
    ],
)
def test_a_username_holds_anything_and_changes_nothing(written: str, user: str) -> None:
    said = read(WRITTEN[written](page().but(user=user)))
    assert said.details["user"] == user
    assert said.details["kernel"] == FLUX
    assert said.details["submission_id"] == SUBMISSION
    assert cells(said) == list(page().rows)


def test_a_script_in_a_username_is_no_name() -> None:
    text = page().html().replace("<dd>Byte-Naut</dd>", "<dd><script>alert(1)</script></dd>")
    said = read(text)
    assert said.details["user"] is None
    assert len(said.cases) == 16


def test_what_stands_beside_the_number_in_the_title_is_no_part_of_it() -> None:
    badge = (
        page().html().replace("</h1>", "<span>2</span> <b>Accepted</b></h1>").replace("<title>", "<title>x ")
    )
    assert read(badge).details["submission_id"] == SUBMISSION


def test_details_may_stand_in_a_row_under_their_labels() -> None:
    shown = page().details
    table = (
        "".join(f"<th>{label}</th>" for label in shown),
        "".join(f"<td>{shown[label]}</td>" for label in shown),
    )
    text = (
        replace(page(), details={})
        .html()
        .replace("<dl>", f"<table><tr>{table[0]}</tr><tr>{table[1]}</table>")
    )
    assert read(text).details == read(page().html()).details


def test_the_first_title_is_the_pages_own() -> None:
    more = page().html().replace("<footer>", "<h2>Submission #1</h2><p>Submission #2</p><footer>")
    assert read(more).details["submission_id"] == SUBMISSION
    assert "no title" in refused(replace(page(), title="Results").html())


def test_a_translated_page_says_what_it_lacks() -> None:
    text = page().html()
    for english, german in {"Kernel": "Kern", "Device": "Gerät", "Result": "Ergebnis"}.items():
        text = text.replace(f"<dt>{english}</dt>", f"<dt>{german}</dt>")
    assert "no Kernel and no Device and no Result" in refused(text)
    assert "in English" in refused(text)


def test_as_many_rows_as_the_cap_are_read_and_one_more_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert submission_page.MOST_ROWS == 10_000
    rows = [page().rows[0]] * 10_000
    text = page().with_rows(rows).text()
    assert read(text).row_count == 10_000
    assert "more than 10,000 rows" in refused(text.replace("\nTerms", "\n" + "\t".join(rows[0])))


def test_a_line_as_long_as_a_book_is_no_row() -> None:
    text = page().text().replace("Terms", "batch_size=1 " * 100_000)
    assert cells(read(text)) == list(page().rows)


def test_a_page_of_another_kind_is_no_submission_page() -> None:
    for text in ("", "hello", "<html><h1>Leaderboard</h1></html>", "Kernel: a\nDevice: b"):
        assert not is_submission_page(read_saved_text(text.encode()))


def test_page_has_no_more_digits_than_shown() -> None:
    shown = Page.html(page())
    for row in read(shown).cases:
        assert all(row[name] in shown for name in ("latency_ms", "baseline_ms", "speedup", "sol_score"))


INVISIBLE = "\u00ad\u200b\u200e\u200f\u202a\u202c\u2060\u2066\ufeff"


@pytest.mark.parametrize("write", WRITTEN.values(), ids=WRITTEN)
def test_what_has_no_width_can_stand_anywhere(write: Callable[[Page], str]) -> None:
    def strewn(text: str) -> str:
        return INVISIBLE.join(["", *text, ""])

    whole = page()
    shown = replace(
        whole,
        title=strewn(whole.title),
        details={strewn(name): strewn(value) for name, value in whole.details.items()},
        columns=tuple(map(strewn, whole.columns)),
    ).with_rows([list(map(strewn, row)) for row in whole.rows])
    said, plainly = read(write(shown)), read(write(whole))
    assert said.cases == plainly.cases
    assert (said.problems, said.unknown) == (plainly.problems, plainly.unknown)
    assert said.details | {"user": visible(said.details["user"])} == plainly.details


def test_a_name_keeps_what_joins_its_letters() -> None:
    for name in ("👩\u200d🚀 Ada", "می\u200cخواهم"):
        assert read(page().but(user=name).html()).details["user"] == name


@pytest.mark.parametrize(
    ("shown", "latency_ms"),
    [("6.8e-3", "0.0068"), ("6.8E-3", "0.0068"), ("6.8e-03", "0.0068"), ("1e+1", "1E+1"), ("5e-9", "5E-9")],
)
def test_numbers_may_have_exponents(shown: str, latency_ms: str) -> None:
    rows = [list(row) for row in page().rows]
    rows[3][1] = shown
    said = read(page().with_rows(rows).html())
    assert said.cases[3]["latency_ms"] == latency_ms
    assert said.row_count == 16
    assert said.problems == []


def test_tables_without_number_are_refused_in_words() -> None:
    header = "Workload Latency Speedup\nx\n"
    with pytest.raises(Unreadable, match="more than 100 tables of benchmark results"):
        read(page().text() + "\n" + header * 200)
