"""The site's pages: what they show, and that nothing in them leads astray, runs or is fetched."""

import re
from pathlib import Path
from urllib.parse import urldefrag

import pytest

import warehouse
from tests.commands.asking import FLAGGED, GQA_BACKWARD, HOSTILE, OF_HOSTILE_NAME, RETRACTED
from tests.commands.test_show import expected
from tests.examples import RMSNORM
from tests.inbox.pages import FLUX, SUBMISSION
from tests.site.pages import Pages, table_titled, words
from warehouse.dossier import SOL_SCORE, dossier
from warehouse.home import Home
from warehouse.site.words import lead

LEADERBOARD = "https://research.nvidia.com/benchmarks/sol-execbench"
OPEN = "010_attention_value_projection_with_transpose"  # Nobody has a run on v1.1.
KV_CACHE = "062_kv_cache_update_with_rope_backward"


def groups_of(pages: Pages, kernel: str) -> list[dict[str, str]]:
    """A kernel's groups, as the front page shows them."""
    groups = table_titled(pages.by_path["index.html"], "Comparison groups")
    return [group for group in groups if group["Kernel"] == kernel]


def test_every_link_leads_to_a_page_and_a_place_in_it(site: Path, pages: Pages) -> None:
    ids = {(path, tag["id"]) for path, tag in pages.tags() if tag.has_attr("id")}
    for path, tag in pages.tags("a", "link", "script"):
        target, fragment = urldefrag(str(tag.get("href") or tag["src"]))
        if target == LEADERBOARD:
            continue
        file = (site / path).parent.joinpath(target).resolve() if target else site / path
        assert file.is_file(), (path, target)
        if fragment:
            assert (file.relative_to(site).as_posix(), fragment) in ids, (path, target, fragment)


def test_nothing_is_fetched_and_only_the_sites_own_script_runs(pages: Pages) -> None:
    loads = {tag.get("src") or tag.get("href") for _, tag in pages.tags("script", "link")}
    assert {re.sub(r"^\.\./", "", str(load)) for load in loads} == {"style.css", "tables.js"}
    for _, tag in pages.tags():
        assert tag.name not in ("img", "iframe", "object", "embed", "form", "base", "style")
        assert tag.name != "script" or not tag.get_text()
        assert not [name for name in tag.attrs if name.startswith("on") or name in ("style", "srcset")]
    for page in pages.by_path.values():
        (policy,) = page.select("meta[http-equiv=Content-Security-Policy]")
        assert str(policy["content"]).startswith("default-src 'none'; style-src 'self'; script-src 'self'")


def test_a_hostile_name_is_shown_as_it_is_and_names_no_file(site: Path, pages: Pages) -> None:
    assert pages.titled(HOSTILE)
    assert words(HOSTILE) in words(pages.of_submission(str(OF_HOSTILE_NAME)).get_text())
    assert words(HOSTILE) in words(pages.titled(RMSNORM).get_text())
    names = [path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()]
    assert all(re.fullmatch(r"\.?([a-z]+/)?[a-z0-9-]+(\.html|\.css|\.js)?", name) for name in names)


@pytest.mark.parametrize(("submission", "rank"), [("165", 1), ("3268", 1), ("26346", 3)])
def test_a_runs_page_holds_every_line_of_the_seed(pages: Pages, submission: str, rank: int) -> None:
    page = pages.of_submission(submission)
    assert page.title is not None
    digits = words(page.title.get_text()).split()[1]
    text = page.get_text()
    published = re.search(r"Published (\S+)", text)
    assert published is not None
    shown = re.sub(r"\s", "", text)
    for line in expected(submission, rank, digits, published[1]):
        line = line.removesuffix("JSON")  # A link; the manifests stand on the page.
        assert re.sub(r"\s", "", line) in shown, line


def test_a_runs_page_holds_every_line_that_show_prints(asked_home: Home, pages: Pages) -> None:
    with warehouse.connect(asked_home.directory) as connection:
        runs = connection.sql("from run_dossier").to_dicts()
    assert len(runs) == sum(path.startswith("runs/") for path in pages.by_path)
    for run in runs:
        shown = words(pages.of_submission(run["external_id"]).get_text(" "))
        for section in dossier(run, run["fetched_at"].date()).sections:
            for line in section.lines:
                assert words(" ".join(line)) in shown, (run["external_id"], line)


def test_a_kernels_page_ranks_each_group_and_shows_both_ranks(pages: Pages) -> None:
    ranking = table_titled(pages.titled(GQA_BACKWARD), "Ranking of v1.1 on NVIDIA B200")
    last = ranking[-1]
    assert (last["Rank"], last["Source rank"], last["Project"]) == ("3", "3", "Gilded Quail")
    assert (last["Latency, µs"], last["To best"], last["SOL score"]) == ("485.961", "1.4137×", "0.5542")
    assert (last["Cases faster"], last["Evidence"]) == ("15 of 16", "reported")


def test_what_is_not_ranked_stands_apart_with_its_reasons_and_flags(pages: Pages) -> None:
    unranked = table_titled(pages.titled(RMSNORM), "Not ranked")
    (flagged,) = [row for row in unranked if row["Submission"] == str(FLAGGED)]
    assert flagged["Reasons"] == "HELD_FOR_REVIEW"
    assert "BELOW_CASE_BOUND" in flagged["Project"]
    assert "RETRACTED" in [
        row["Reasons"]
        for page in pages.by_path.values()
        if "Not ranked in" in page.get_text()
        for row in table_titled(page, "Not ranked")
        if row["Submission"] == str(RETRACTED)
    ]


def test_a_kernels_page_compares_case_by_case_where_pages_were_saved(pages: Pages) -> None:
    cases = table_titled(pages.titled(FLUX), "Runs on single cases")
    assert len(cases) == 16
    assert {(case["Project"], case["Rank"]) for case in cases} == {("Byte-Naut", "1")}
    assert len({case["Axes"] for case in cases}) == 16
    assert "is not known" in pages.titled(GQA_BACKWARD).get_text()
    assert str(SUBMISSION) in pages.titled("Byte-Naut").get_text()


def test_plots_show_every_run_and_say_what_they_show(pages: Pages) -> None:
    page = pages.titled(GQA_BACKWARD)
    plots = page.select("svg")
    assert len(plots) == 3  # Of v1.1 both; of v1.0, which has one run, no history.
    for plot in plots:
        named = [page.find(id=name) for name in str(plot["aria-labelledby"]).split()]
        assert all(name is not None and name.get_text() for name in named)
    over_time, by_score, _ = plots
    assert len(over_time.select("circle")) == len(by_score.select("circle")) == 3
    assert len(over_time.select("circle.record")) == 2
    assert [level["class"] for level in by_score.select("path.level")] == [
        ["level", "bound"],
        ["level", "baseline"],
    ]
    assert "bound 113.4 µs" in by_score.get_text()


def test_the_front_page_says_who_leads_each_group_and_how_many(pages: Pages) -> None:
    front = pages.by_path["index.html"]
    groups = table_titled(front, "Comparison groups")
    for stack in ("v1.1", "v1.0"):
        leaders = table_titled(front, f"Projects by the groups they lead on {stack}")
        led = [group["Leader"] for group in groups if group["Stack"] == stack]
        assert {leader["Project"]: int(leader["Leads"]) for leader in leaders if leader["Leads"] != "0"} == {
            name: led.count(name) for name in led
        }
        for leader in leaders:
            assert int(leader["Leads"]) == int(leader["Contested"]) + int(leader["Uncontested"])


def test_the_newest_stack_comes_first_and_the_others_are_folded(pages: Pages) -> None:
    front = pages.by_path["index.html"]
    captions = [words(caption.get_text()) for caption in front.select("#leaders caption")]
    assert [caption.split(" on ")[1][:4] for caption in captions] == ["v1.1", "v1.0"]
    (older,) = front.select("#leaders details caption")
    assert "on v1.0" in older.get_text()
    places = table_titled(pages.titled("doubleAI"), "Where it stands")
    assert [place["Stack"] for place in places] == ["v1.1", "v1.0"]


def test_a_kernel_without_submissions_has_a_row_and_its_page_says_so(sample_pages: Pages) -> None:
    rows = groups_of(sample_pages, OPEN)
    assert [(row["Stack"], row["Leader"], row["Ranked runs"]) for row in rows] == [
        ("v1.1", "no submissions yet", "0"),
        ("v1.0", "Databricks", "3 of 3"),
    ]
    assert "On v1.1: no submissions yet." in words(sample_pages.titled(OPEN).get_text())
    (caption,) = [
        caption
        for caption in sample_pages.by_path["index.html"].select("caption")
        if "who leads them" in caption.get_text()
    ]
    assert "kernels without a run on v1.1, of which there are 1, have a row too" in words(caption.get_text())


def test_tags_are_in_what_the_search_looks_through(sample_pages: Pages) -> None:
    assert {group["Tags"] for group in groups_of(sample_pages, KV_CACHE)} == {
        "attention, rope, model:devstral-small-2507, L1"
    }


def test_a_run_stands_beside_the_first_and_the_first_beside_the_next_best(pages: Pages) -> None:
    for submission, caption, other, ratio in (
        ("26346", "This run beside #1", "28584", "1.4137×"),
        ("28584", "This run beside the next best", "19945", "0.9871×"),
    ):
        page = pages.of_submission(submission)
        facts = {row["Fact"]: row for row in table_titled(page, caption)}
        column = "The first" if "#1" in caption else "The next best"
        assert (facts["Submission"]["This run"], facts["Submission"][column]) == (submission, other)
        assert facts["Latency, µs"]["Between them"] == ratio
        (link,) = [link for link in page.select("a") if link.get_text() == "Compare with #1 →"]
        assert link["href"] == "#compare"


def test_of_a_run_that_is_alone_in_its_group_there_is_nothing_to_compare(pages: Pages) -> None:
    page = pages.of_submission("165")
    assert "Compare with #1 →" in page.get_text()
    assert not [link for link in page.select("a") if "Compare" in link.get_text()]
    assert not page.select("#compare")


def test_the_score_is_explained_wherever_it_stands(pages: Pages) -> None:
    for page in pages.by_path.values():
        text = words(page.get_text())
        assert ("SOL 0." not in text and "SOL score" not in text) or SOL_SCORE in text


def test_flags_stand_beside_a_run_in_every_table_until_people_accept_it(sample_pages: Pages) -> None:
    flagged = "doubleAI BELOW_SUITE_BOUND"
    leaders = {group["Stack"]: group["Leader"] for group in groups_of(sample_pages, KV_CACHE)}
    assert leaders == {"v1.1": flagged, "v1.0": "doubleAI"}
    for caption in ("Ranking", "Record history"):
        for stack, project in leaders.items():
            runs = table_titled(sample_pages.titled(KV_CACHE), f"{caption} of {stack}")
            assert project in [run["Project"] for run in runs]
    places = table_titled(sample_pages.titled("doubleAI"), "Its best run")
    submissions = {place["Stack"]: place["Submission"] for place in places if place["Kernel"] == KV_CACHE}
    assert submissions == {"v1.1": "20107 BELOW_SUITE_BOUND", "v1.0": "15511"}
    assert "BELOW_SUITE_BOUND" in sample_pages.of_submission("15511").get_text()


def test_a_projects_page_says_why_a_run_is_not_ranked(pages: Pages) -> None:
    (place,) = [
        place
        for path, page in pages.by_path.items()
        if path.startswith("projects/")
        for place in table_titled(page, "Its best run")
        if place["Submission"].startswith(str(FLAGGED))
    ]
    assert place["Submission"].startswith(f"{FLAGGED} BELOW_CASE_BOUND ")
    assert place["Submission"].endswith(" HELD_FOR_REVIEW")
    assert place["Rank"].startswith("–")


def test_a_lead_is_shown_however_small_and_a_dash_where_nobody_is_second(pages: Pages) -> None:
    leads = {group["Stack"]: group["Lead"] for group in groups_of(pages, GQA_BACKWARD)}
    assert leads == {"v1.1": "1.31 %", "v1.0": "–"}
    note = words(pages.by_path["index.html"].get_text())
    assert "Lead: how much longer rank 2 takes; a dash where no run has rank 2" in note
    ratios = {1.002: "0.20 %", 1.000082: "0.0082 %", 14.5: "1,350.00 %"}
    assert {ratio: lead(ratio) for ratio in ratios} == ratios


@pytest.mark.parametrize(
    ("heading", "caption", "columns"),
    [
        ("Groups and leaders", "Comparison groups", ["Kernel", "Stack", "Leader", "Latency, µs"]),
        (GQA_BACKWARD, "Ranking of v1.1", ["Rank", "Source rank", "Project", "Latency, µs"]),
        (GQA_BACKWARD, "Record history of v1.1", ["Taken", "Project", "Latency, µs"]),
        (RMSNORM, "Not ranked", ["Project", "Reasons", "Latency, µs"]),
        (FLUX, "Runs on single cases", ["Case", "Rank", "Project", "Latency, µs"]),
        ("Geometric", "Its best run", ["Kernel", "Stack", "Rank", "Latency, µs", "Submission"]),
    ],
)
def test_who_and_how_fast_come_first_where_screens_are_narrow(
    pages: Pages, heading: str, caption: str, columns: list[str]
) -> None:
    shown = list(table_titled(pages.titled(heading), caption)[0])
    assert shown[: len(columns)] == columns


def test_tables_that_are_cut_say_that_there_is_more(site: Path, pages: Pages) -> None:
    front = pages.by_path["index.html"]
    caption, *_ = [caption for caption in front.select(".short caption") if "lead" in caption.get_text()]
    leaders = table_titled(front, "Projects by the groups they lead on v1.1")
    assert f"{len(leaders)} projects" in words(caption.get_text())
    (rule,) = re.findall(r"^\.scroll \{(.*?)^\}", (site / "style.css").read_text("utf-8"), re.M | re.S)
    # What says it stays at an edge, and what hides it there scrolls along.
    for edge in ("right", "bottom"):
        assert re.search(rf"var\(--shade\), transparent\) {edge} ", rule)
        assert re.search(rf"var\(--ground\) 40%, transparent\) local {edge} ", rule)


def test_words_that_kernelindex_uses_otherwise_are_explained_beside_them(pages: Pages) -> None:
    (note,) = pages.of_submission("165").select(".part .note")
    assert "Mean: of a suite, the geometric mean over its cases" in note.get_text()
    assert "Reference: the scoring baseline" in note.get_text()
    for heading in (GQA_BACKWARD, "Geometric"):
        captions = words(" ".join(tag.get_text() for tag in pages.titled(heading).select("caption")))
        assert "speedup over the scoring baseline" in captions


def test_tables_can_be_read_without_seeing_them(pages: Pages) -> None:
    for path, table in pages.tags("table"):
        assert table.caption is not None
        assert words(table.caption.get_text()), path
        assert all(heading["scope"] in ("col", "row") for heading in table.find_all("th"))
    for page in pages.by_path.values():
        assert len(page.select("html[lang=en] main#main h1")) == 1
        assert [tag["id"] for tag in page.select("[id]")] == list(
            dict.fromkeys(tag["id"] for tag in page.select("[id]"))
        )
