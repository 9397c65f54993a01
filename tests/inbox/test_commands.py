"""`kernelindex read` and `kernelindex verify`, and what Dagster shows of them."""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import duckdb
import pytest
from typer.testing import CliRunner

from pipelines.cli import app
from pipelines.instance import instance_there
from pipelines.names import asset_key
from tests.examples import recorded
from tests.inbox.pages import flux, page, prepared, published, saved, seed_html, seed_text
from warehouse.home import Home

FUSED_VISION = "001_fused_vision_multihead_attention_with_norms_backward"  # has seed 165


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, and what it said, each line as one."""

    code: int
    said: str


def kernelindex(*arguments: str | Path) -> Ended:
    result = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
    return Ended(result.exit_code, result.output)


@pytest.fixture(scope="module")
def published_home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home with a warehouse that knows one seed, to verify against."""
    home = prepared(Home(tmp_path_factory.mktemp("published")), recorded(FUSED_VISION))
    published(home)
    return home


@pytest.fixture
def environment() -> Iterator[None]:
    """The environment as it was, once a test that runs Dagster here is over."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


def rows(home: Home, query: str) -> list[tuple[object, ...]]:
    with duckdb.connect(home.warehouse, read_only=True) as warehouse:
        return warehouse.execute(query).fetchall()


def file(tmp_path: Path, content: str | bytes, name: str = "page.html") -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_pages_go_all_the_way_and_dagster_shows_them(home: Home, tmp_path: Path, environment: None) -> None:
    published(prepared(home, flux(), recorded(FUSED_VISION)))
    # What lies in the inbox is taken in by any run, what is given to the command by that one.
    saved(home, page().text(), "dropped.txt")
    later = page().but(sol_score="0.100000", evaluation_finished="2026-10-01 00:00 UTC")
    files = [
        file(tmp_path, later.html_of_divs(), "good[bold].html"),
        file(tmp_path, seed_html("165"), "run.html"),
        file(tmp_path, seed_text("165").replace("5.06×", "5.07×"), "differs.txt"),
        file(tmp_path, "\x1b[31mjunk", "junk\x1b[31m.txt"),
        file(tmp_path, page().but(mode="Private").html(), "secret.html"),
        tmp_path / "none.html",
    ]
    ended = kernelindex("read", "--home", home.directory, *files)

    assert ended.code == 1
    assert "good[bold].html: submission 47128 of 038_flux_multi_head_rmsnorm_qk" in ended.said
    assert "counted, 16 case runs" in ended.said
    assert "differs: shown_sol_score is" in ended.said
    assert "run.html: a KernelIndex run page\n    counted\n" in ended.said
    assert "differs: speedup is 5.07, here 5.06" in ended.said
    assert "quarantined: page: it is neither a submission page" in ended.said
    assert "kernelindex read --private FILE" in ended.said
    assert "none.html can't be read: No such file" in " ".join(ended.said.split())
    assert "\x1b" not in ended.said
    assert "Traceback" not in ended.said
    assert all(path.exists() for path in files[:-1])

    assert rows(home, "select count(*) from case_leaderboard") == [(16,)]
    assert rows(home, "select state, count(*) from saved_pages group by all order by all") == [
        ("counted", 3),
        ("private", 1),
        ("quarantined", 1),
        ("superseded", 1),
    ]
    assert rows(home, "select verdict, count(*) from run_page_checks group by all order by all") == [
        ("agrees", 2 * 37 - 1),
        ("differs", 1),
        ("explained", 2),
    ]
    with instance_there(home) as instance:
        for name in ("kernel_cases", "run_page_checks", "page_disagreements", "saved_pages"):
            assert instance.get_latest_materialization_event(asset_key(name)) is not None
        for table, check in (
            ("run_page_checks", "run_pages_agree"),
            ("page_disagreements", "saved_pages_agree"),
        ):
            key = dg.AssetCheckKey(asset_key(table), check)
            (execution,) = instance.event_log_storage.get_latest_asset_check_execution_by_key([key]).values()
            assert execution.event is not None
            evaluation = execution.event.asset_check_evaluation
            assert evaluation is not None
            assert not evaluation.passed
            assert evaluation.metadata["broken"].value == 1


def test_read_before_the_first_ingest_keeps_the_page(tmp_path: Path) -> None:
    ended = kernelindex("read", "--home", tmp_path / "home", file(tmp_path, page().html()))
    assert ended.code == 0
    assert "waits for `kernelindex ingest`" in ended.said
    assert len(Home(tmp_path / "home").parts("saved")) == 1


def test_read_keeps_what_is_private_unless_one_says_so(home: Home, tmp_path: Path) -> None:
    secret = file(tmp_path, page().but(mode="Private").html())
    ended = kernelindex("read", "--home", home.directory, secret)
    assert ended.code == 1
    assert "kernelindex read --private FILE" in ended.said
    ended = kernelindex("read", "--home", home.directory, "--private", secret)
    assert ended.code == 0
    assert "submission 47128 of 038_flux_multi_head_rmsnorm_qk" in ended.said


@pytest.mark.parametrize("written", [seed_text, seed_html])
def test_verify_a_page_that_agrees(
    published_home: Home, tmp_path: Path, written: Callable[[str], str]
) -> None:
    ended = kernelindex("verify", "--home", published_home.directory, file(tmp_path, written("165")))
    assert ended.code == 0, ended.said
    assert (
        "rank: our page set is smaller; runs of its group known here: 1; to KernelIndex: at least 4"
        in ended.said
    )
    assert ended.said.rstrip().endswith("agrees")


def test_verify_names_what_differs_and_ends_with_1(published_home: Home, tmp_path: Path) -> None:
    changed = file(tmp_path, seed_text("165").replace("SOL 0.8380", "SOL 0.8381"), "changed.txt")
    ended = kernelindex("verify", "--home", published_home.directory, changed)
    assert ended.code == 1
    assert "differs in score" in ended.said


def test_verify_what_can_not_be_read_ends_with_2(published_home: Home, tmp_path: Path) -> None:
    for content, why in (
        ("junk", "embeds no canonical manifest"),
        (page().html(), "page of a submission"),
        (b"PK\x03\x04", "zip archive"),
    ):
        ended = kernelindex("verify", "--home", published_home.directory, file(tmp_path, content))
        assert ended.code == 2
        assert why in " ".join(ended.said.split())
    assert kernelindex("verify", "--home", published_home.directory, tmp_path / "none").code == 2
    assert kernelindex("verify", "--home", tmp_path, file(tmp_path, seed_text("165"))).code == 2


def test_verify_says_the_same_for_scripts(published_home: Home, tmp_path: Path) -> None:
    files = [
        file(tmp_path, seed_text("165"), "agrees.txt"),
        file(tmp_path, seed_text("165").replace("5.06×", "5.07×"), "differs.txt"),
        file(tmp_path, "junk", "junk.txt"),
    ]
    ended = kernelindex("verify", "--json", "--home", published_home.directory, *files)
    assert ended.code == 2
    said = json.loads(ended.said)
    assert [page["verdict"] for page in said] == ["agrees", "differs", "unreadable"]
    assert said[0]["run_digest"].startswith("sha256:5195388fd7c6a80d3089edc")
    assert [fact["field"] for fact in said[1]["facts"] if fact["verdict"] == "differs"] == ["speedup"]
    assert "no canonical manifest" in said[2]["problem"]


def test_verify_a_run_that_was_never_ingested_says_what_to_do(published_home: Home, tmp_path: Path) -> None:
    ended = kernelindex("verify", "--home", published_home.directory, file(tmp_path, seed_text("3268")))
    assert ended.code == 1
    assert "ingest its kernel first" in " ".join(ended.said.split())
