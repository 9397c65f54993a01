"""Fetching: which pages a kernel is made of, which there ever were, and which kernels."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.leaderboard.kernel_pages import (
    current_pages,
    fetch_kernel,
    fetch_kernel_listing,
    kernel_key,
    kernel_listing,
    page_of,
)
from assets.leaderboard.records import Unreadable
from assets.leaderboard.snapshots import Snapshots
from assets.leaderboard.sources import DirectorySource, RecordedSource, SourceError
from assets.manifests.kernel_manifests import make_manifests
from tests.examples import Kernel, Row, answer, ingest, sample_ids, save
from warehouse.home import Home
from warehouse.parquet import read_table, rows_of
from warehouse.parts import read_part
from warehouse.tables import PAGES, QUARANTINE, RUNS

ListKernels = Callable[[dict[int, str]], list[Row]]


@pytest.fixture
def list_kernels(home: Home, tmp_path: Path) -> ListKernels:
    """Give a function that fetches a listing of kernels, and returns all that were ever listed."""

    def fetched(names: dict[int, str]) -> list[Row]:
        kernels = [{"id": number, "name": name} for number, name in names.items()]
        (tmp_path / "kernels.json").write_bytes(answer("/kernels", {"kernels": kernels}).body)
        return fetch_kernel_listing(DirectorySource(tmp_path), home)

    return fetched


def keys(rows: list[Row]) -> list[str]:
    return [row["kernel_key"] for row in rows]


def pages_ever(home: Home, key: str) -> list[Row]:
    return rows_of(read_part(home.part(key, "pages"), "pages"))


# Names of kernels as keys of partitions and names of files.


@pytest.mark.parametrize(
    "name", ["004_gemm_n128_k2048", "020_moe_fp8_block_scale_ds_routing_topk8_ng8_kg4_e32_h7168_i2048", "A-b"]
)
def test_a_safe_name_is_its_own_key(name: str) -> None:
    assert kernel_key(name) == name


AWKWARD = [
    *("a,b", "a/b", "a b", "a...b", "..", ".", "../../etc/passwd", "/", "-rf", "a\\b", "a\0b", "a\nb", " "),
    *("C:", "a'b", '"', "*", "[1-3]", "é", "日本", "日本語", "😀", "x" * 101, "x" * 5000, "a\n"),
]


def is_safe(key: str) -> bool:
    return 0 < len(key) <= 100 and key.isascii() and key.replace("-", "a").replace("_", "a").isalnum()


@pytest.mark.parametrize("name", AWKWARD, ids=lambda name: ascii(name[:20]))
def test_an_awkward_name_has_a_safe_key(name: str) -> None:
    key = kernel_key(name)
    assert is_safe(key)
    assert not key.startswith(("-", "_"))


def test_awkward_names_share_no_key() -> None:
    assert len({kernel_key(name) for name in AWKWARD}) == len(AWKWARD)


@given(st.text(min_size=1, max_size=120), st.text(min_size=1, max_size=120))
def test_any_two_names_have_two_safe_keys(one: str, other: str) -> None:
    assert is_safe(kernel_key(one))
    assert (kernel_key(one) == kernel_key(other)) == (one == other)


# The listing of kernels.


def test_listed_kernels_are_kept_with_their_keys(list_kernels: ListKernels, home: Home) -> None:
    rows = list_kernels({7: "a,b", 3: "c"})
    assert rows == kernel_listing(home)
    assert [(row["kernel_key"], row["kernel_id"], row["kernel_name"], row["listed"]) for row in rows] == [
        ("c", 3, "c", True),
        (kernel_key("a,b"), 7, "a,b", True),
    ]


def test_before_the_first_listing_there_are_no_kernels(home: Home) -> None:
    assert kernel_listing(home) == []


def test_kernels_that_vanish_stay_and_are_not_listed(list_kernels: ListKernels) -> None:
    list_kernels({1: "a", 2: "b"})
    rows = list_kernels({2: "b", 3: "c"})
    assert [(row["kernel_id"], row["listed"]) for row in rows] == [(1, False), (2, True), (3, True)]
    again = list_kernels({1: "a"})
    assert [(row["kernel_id"], row["listed"]) for row in again] == [(1, True), (2, False), (3, False)]


def test_two_kernels_of_one_name_have_two_keys_that_stay(list_kernels: ListKernels) -> None:
    first = list_kernels({1: "same", 2: "same"})
    assert len(set(keys(first))) == 2
    assert keys(list_kernels({2: "same", 1: "same"})) == keys(first)


def test_no_kernel_gets_the_key_of_another(list_kernels: ListKernels) -> None:
    rows = list_kernels({3: "same-12", 5: "same", 12: "same"})
    assert len(set(keys(rows))) == 3


def test_a_kernel_that_gets_another_name_keeps_its_key(list_kernels: ListKernels) -> None:
    (before,) = list_kernels({7: "gemm"})
    (after,) = list_kernels({7: "gemm_v2"})
    assert after == {**before, "kernel_name": "gemm_v2"}


def test_a_listing_that_can_t_be_read_changes_nothing(
    list_kernels: ListKernels, home: Home, tmp_path: Path
) -> None:
    rows = list_kernels({1: "a"})
    (tmp_path / "kernels.json").write_text("<html>Service Unavailable</html>")
    with pytest.raises(Unreadable):
        fetch_kernel_listing(DirectorySource(tmp_path), home)
    assert kernel_listing(home) == rows
    assert len(list(Snapshots(home.snapshots))) == 2  # What can't be read is kept all the same.


def test_what_can_t_be_read_of_a_listing_is_quarantined(home: Home, tmp_path: Path) -> None:
    listing = {"kernels": [{"id": 1, "name": "a"}, {"id": 7}]}
    (tmp_path / "kernels.json").write_bytes(answer("/kernels", listing).body)
    fetch_kernel_listing(DirectorySource(tmp_path), home)
    (row,) = rows_of(read_part(home.kernel_listing, "quarantine"))
    assert (row["locator"], row["item"], row["problem"]) == ("/kernels", "kernel 7", "name: Field required")


# A kernel's pages.


def test_a_kernel_s_pages_are_stored_in_their_order(home: Home) -> None:
    kernel_id = sample_ids()["004_gemm_n128_k2048"]
    source = RecordedSource()
    fetched = fetch_kernel(source, home, "gemm", kernel_id)
    snapshots = Snapshots(home.snapshots)
    stored = [page_of(row, snapshots) for row in current_pages(home, "gemm")]
    assert stored == list(source.kernel(kernel_id))
    assert (fetched.pages, fetched.changed) == (2, True)
    assert fetched.size_bytes == sum(len(page.body) for page in stored)


def test_a_kernel_s_submissions_can_span_pages(gemm: Kernel, home: Home, tmp_path: Path) -> None:
    first, *others = gemm.submissions
    save(tmp_path, gemm)
    (tmp_path / "submissions/213.json").write_bytes(gemm.submissions_page([first]).body)
    (tmp_path / "submissions/213.1.json").write_bytes(gemm.submissions_page(others, 1).body)
    assert fetch_kernel(DirectorySource(tmp_path), home, "gemm", 213).pages == 3
    make_manifests(home, "gemm", 213)
    runs = rows_of(read_part(home.part("gemm", "manifests"), "runs"))
    assert [run["external_id"] for run in runs] == ["32884", "32777", "31712"]
    assert len({run["page_digest"] for run in runs}) == 2


def test_nothing_new_adds_no_row(gemm: Kernel, home: Home, tmp_path: Path) -> None:
    source = DirectorySource(save(tmp_path, gemm))
    first = fetch_kernel(source, home, "gemm", 213)
    part = home.part("gemm", "pages").read_bytes()
    second = fetch_kernel(source, home, "gemm", 213)
    assert (first.changed, second.changed) == (True, False)
    assert second.version == first.version
    assert home.part("gemm", "pages").read_bytes() == part


def test_a_page_fetched_again_is_noted_but_changes_nothing(gemm: Kernel, home: Home, tmp_path: Path) -> None:
    source = DirectorySource(save(tmp_path, gemm))
    fetch_kernel(source, home, "gemm", 213)
    os.utime(tmp_path / "submissions/213.json", (1, 1))
    assert not fetch_kernel(source, home, "gemm", 213).changed
    assert len(pages_ever(home, "gemm")) == 3
    assert len(list(Snapshots(home.snapshots))) == 2


def test_pages_that_there_were_stay(gemm: Kernel, home: Home, tmp_path: Path) -> None:
    source = DirectorySource(save(tmp_path, gemm))
    fetch_kernel(source, home, "gemm", 213)
    del gemm.submissions[0]
    save(tmp_path, gemm)
    os.utime(tmp_path / "submissions/213.json", (1, 1))
    assert fetch_kernel(source, home, "gemm", 213).changed
    listings = [row for row in pages_ever(home, "gemm") if row["locator"].startswith("/submissions")]
    assert len({row["page_digest"] for row in listings}) == 2
    assert [row["page_digest"] for row in current_pages(home, "gemm")] == [
        page.page_digest for page in gemm.pages()
    ]
    assert {row["page_digest"] for row in pages_ever(home, "gemm")} == set(Snapshots(home.snapshots))


def test_other_bytes_are_another_page_even_at_the_same_time(gemm: Kernel, home: Home, tmp_path: Path) -> None:
    source = DirectorySource(save(tmp_path, gemm))
    listing = tmp_path / "submissions/213.json"
    os.utime(listing, (1, 1))
    fetch_kernel(source, home, "gemm", 213)
    del gemm.submissions[0]
    save(tmp_path, gemm)
    os.utime(listing, (1, 1))
    fetch_kernel(source, home, "gemm", 213)
    ever = {row["page_digest"] for row in pages_ever(home, "gemm")}
    assert {row["page_digest"] for row in current_pages(home, "gemm")} <= ever


def test_a_kernel_keeps_its_pages_where_one_is_not_to_be_had(
    gemm: Kernel, home: Home, tmp_path: Path
) -> None:
    source = DirectorySource(save(tmp_path, gemm))
    fetch_kernel(source, home, "gemm", 213)
    before = current_pages(home, "gemm")
    gemm.definition["title"] = "GEMM"
    save(tmp_path, gemm)
    (tmp_path / "submissions/213.json").unlink()
    with pytest.raises(SourceError):
        fetch_kernel(source, home, "gemm", 213)
    assert current_pages(home, "gemm") == before


def test_one_unreadable_page_costs_its_kernel_and_the_others_go_on(
    gemm: Kernel, rmsnorm: Kernel, home: Home, tmp_path: Path
) -> None:
    source = DirectorySource(save(tmp_path, gemm, rmsnorm))
    (tmp_path / "submissions/213.json").write_text("<html>Service Unavailable</html>")
    ingest(source, home)
    assert {row["external_id"] for row in rows_of(read_table(home, RUNS))} == {
        str(submission["id"]) for submission in rmsnorm.submissions
    }
    (problem,) = rows_of(read_table(home, QUARANTINE))
    assert (problem["locator"], problem["item"]) == ("/submissions?kernel_id=213", "page")
    assert problem["problem"] == "the page is no JSON; it starts with '<html>Service Unavailable</html>'"
    assert problem["page_digest"] in {row["page_digest"] for row in rows_of(read_table(home, PAGES))}
    assert Snapshots(home.snapshots).get(problem["page_digest"]) == b"<html>Service Unavailable</html>"


def test_no_file_that_is_written_aside_is_left(gemm: Kernel, home: Home, tmp_path: Path) -> None:
    ingest(DirectorySource(save(tmp_path, gemm)), home)
    assert {path.suffix for path in home.directory.rglob("*") if path.is_file()} == {
        ".zst",
        ".zip",
        ".parquet",
    }
