"""The recorded sample and directories of saved answers hand over the same thing: pages."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from assets.leaderboard.records import read_kernel_listing
from assets.leaderboard.sources import DirectorySource, RecordedSource, SourceError
from tests.examples import Kernel, answer, sample_ids, save


def locators(source: RecordedSource | DirectorySource, kernel_id: int) -> list[str]:
    return [page.locator for page in source.kernel(kernel_id)]


def test_the_recorded_sample_has_24_kernels(golden: dict[str, Any]) -> None:
    (listing,) = RecordedSource().kernel_listing()
    names, records = read_kernel_listing(listing)
    assert sorted(names.values()) == sorted(golden["operations"])
    assert not records.quarantine + records.drift


def test_the_recorded_sample_says_where_it_is_from() -> None:
    provenance = RecordedSource().provenance
    for said in ("NVIDIA SOL-ExecBench", "2026-08-16", "2026-08-11", "not for republishing"):
        assert said in provenance


def test_every_recorded_kernel_has_a_definition_and_a_listing() -> None:
    source = RecordedSource()
    for kernel_id in sample_ids().values():
        assert locators(source, kernel_id) == [
            f"/kernels/{kernel_id}",
            f"/submissions?kernel_id={kernel_id}",
        ]


def test_a_recorded_page_says_when_and_as_what_it_was_served() -> None:
    definition, listing = RecordedSource().kernel(213)
    assert definition.fetched_at == datetime(2026, 8, 11, tzinfo=UTC)
    assert listing.fetched_at == datetime(2026, 8, 16, tzinfo=UTC)
    assert {(page.status, page.media_type) for page in (definition, listing)} == {(200, "application/json")}
    assert listing.resolved_locator == "recorded:/submissions?kernel_id=213"


def test_a_kernel_that_was_not_recorded_is_not_to_be_had() -> None:
    with pytest.raises(SourceError, match="/kernels/2: not among the recorded pages"):
        list(RecordedSource().kernel(2))


def test_a_saved_page_is_the_bytes_of_its_file(gemm: Kernel, tmp_path: Path) -> None:
    source = DirectorySource(save(tmp_path, gemm))
    file = tmp_path / "kernels/213.json"
    os.utime(file, ns=(0, 1_786_685_924_902_912_345))
    definition, listing = source.kernel(213)
    assert definition.body == file.read_bytes() == gemm.definition_page().body
    assert definition.fetched_at == datetime(2026, 8, 14, 5, 38, 44, 902912, tzinfo=UTC)
    assert definition.resolved_locator == file.resolve().as_uri()
    assert listing.locator == "/submissions?kernel_id=213"
    assert [page.locator for page in source.kernel_listing()] == ["/kernels"]


def test_the_archive_hands_over_the_bytes_that_were_recorded(archive: Path) -> None:
    recorded, saved = RecordedSource(), DirectorySource(archive)
    for kernel_id in sample_ids().values():
        for one, other in zip(recorded.kernel(kernel_id), saved.kernel(kernel_id), strict=True):
            assert (one.locator, one.body) == (other.locator, other.body)


def test_submissions_can_span_pages_in_order_of_their_offsets(gemm: Kernel, tmp_path: Path) -> None:
    source = DirectorySource(save(tmp_path, gemm))
    for offset in (100, 20, 3):
        body = gemm.submissions_page(offset=offset).body
        (tmp_path / f"submissions/213.{offset}.json").write_bytes(body)
    for other in ("2130.json", "2130.20.json", "213.txt", "213.notes.json"):
        (tmp_path / "submissions" / other).write_bytes(b"not of this kernel")
    first = "/submissions?kernel_id=213"
    assert locators(source, 213) == [
        "/kernels/213",
        first,
        f"{first}&offset=3",
        f"{first}&offset=20",
        f"{first}&offset=100",
    ]


def test_a_file_of_another_name_is_no_page(gemm: Kernel, tmp_path: Path) -> None:
    source = DirectorySource(save(tmp_path, gemm))
    (tmp_path / "submissions/213.20.old.json").write_bytes(b"no page")
    assert len(locators(source, 213)) == 2


def test_a_page_is_asked_for_only_after_the_one_before_it(gemm: Kernel, tmp_path: Path) -> None:
    pages = DirectorySource(save(tmp_path, gemm)).kernel(213)
    next(pages)
    added = {"submissions": [{**gemm.submissions[0], "id": 40_000}], "total": 1}
    (tmp_path / "submissions/213.json").write_bytes(answer("/", added).body)
    assert json.loads(next(pages).body)["data"] == added


@pytest.mark.parametrize("missing", ["kernels/213.json", "submissions/213.json"])
def test_a_page_that_is_not_saved_is_not_to_be_had(gemm: Kernel, tmp_path: Path, missing: str) -> None:
    source = DirectorySource(save(tmp_path, gemm))
    (tmp_path / missing).unlink()
    with pytest.raises(SourceError, match=rf"{missing} can't be read \(No such file"):
        list(source.kernel(213))


@pytest.mark.parametrize("there", [True, False])
def test_a_directory_without_saved_answers_is_refused_in_words(tmp_path: Path, there: bool) -> None:
    directory = tmp_path if there else tmp_path / "nowhere"
    with pytest.raises(SourceError, match=r"there is no kernels\.json in it; give a directory with"):
        DirectorySource(directory)
