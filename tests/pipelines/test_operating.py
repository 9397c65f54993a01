"""What an operator does in Dagster's UI, through the UI's own API: a real webserver, a real daemon.

One story on one home, in the order in which an operator lives it; each test is a chapter.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from assets.leaderboard.recorded import recorded_directory
from tests.inbox.pages import seed_html
from tests.pipelines.ui import Ui, running_ui, wait_until
from warehouse.home import Home

pytestmark = pytest.mark.ui

KERNEL = "001_attention_softmax_dropout_value_matmul_backward"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of saved answers that the UI fetches from, for a test to spoil."""
    saved = tmp_path_factory.mktemp("saved")
    recorded_directory(saved)
    return saved


@pytest.fixture(scope="module")
def ui(tmp_path_factory: pytest.TempPathFactory, saved: Path) -> Iterator[Ui]:
    home = Home(tmp_path_factory.mktemp("home"))
    with running_ui(home, saved, KERNELINDEX_NIGHTLY_CRON="* * * * *") as ui:
        yield ui


def test_listing_the_kernels_makes_them_partitions_and_a_backfill_of_all_is_carried_to_the_warehouse(
    ui: Ui,
) -> None:
    listing = ui.run_job("list_kernels")
    ui.done(listing)

    backfill = ui.backfill(["kernel_pages", "kernel_manifests"], allPartitions=True)
    wait_until(lambda: ui.backfill_status(backfill) == "COMPLETED_SUCCESS", "the backfill is completed")

    wait_until(lambda: ui.rows("select count(*) from rankings") == [(75,)], "the warehouse is published")
    assert len(ui.readable()["succeededPartitions"]) == 24


def test_a_bad_page_turns_the_check_of_its_kernel_red_and_changes_nothing_published(
    ui: Ui, saved: Path
) -> None:
    (saved / "kernels" / "1.json").write_text("<html>Bad gateway</html>")
    before = ui.rows("select run_digest, rank from rankings order by all")

    backfill = ui.backfill(["kernel_pages", "kernel_manifests"], partitionNames=[KERNEL])
    wait_until(lambda: ui.backfill_status(backfill) == "COMPLETED_SUCCESS", "the backfill is completed")

    readable = ui.readable()
    assert readable["failedPartitions"] == [KERNEL]
    assert len(readable["succeededPartitions"]) == 23
    quarantined = "select locator from quarantine"
    wait_until(lambda: ui.rows(quarantined) == [("/kernels/1",)], "the bad page is published as quarantined")
    assert ui.rows("select run_digest, rank from rankings order by all") == before


def test_the_page_mended_and_its_kernel_backfilled_the_check_is_green(ui: Ui, saved: Path) -> None:
    recorded_directory(saved)

    backfill = ui.backfill(["kernel_pages", "kernel_manifests"], partitionNames=[KERNEL])
    wait_until(lambda: ui.backfill_status(backfill) == "COMPLETED_SUCCESS", "the backfill is completed")

    assert ui.readable()["failedPartitions"] == []
    wait_until(lambda: ui.rows("select * from quarantine") == [], "nothing is quarantined any more")


def test_a_kernel_that_is_not_to_be_had_is_the_one_that_failed_and_the_one_to_backfill(
    ui: Ui, saved: Path
) -> None:
    (saved / "kernels" / "1.json").unlink()
    backfill = ui.backfill(["kernel_pages", "kernel_manifests"], allPartitions=True)
    wait_until(lambda: ui.backfill_status(backfill) == "COMPLETED_FAILED", "the backfill is over")
    assert ui.partitions("kernel_pages") == {"numMaterialized": 23, "numFailed": 1}

    recorded_directory(saved)
    backfill = ui.backfill(["kernel_pages", "kernel_manifests"], partitionNames=[KERNEL])
    wait_until(lambda: ui.backfill_status(backfill) == "COMPLETED_SUCCESS", "the backfill is completed")
    assert ui.partitions("kernel_pages") == {"numMaterialized": 24, "numFailed": 0}


def test_a_page_that_is_put_into_the_inbox_is_taken_in(ui: Ui) -> None:
    ui.home.inbox.mkdir(exist_ok=True)
    (ui.home.inbox / "a page.html").write_text(seed_html("3268"))

    pages = "select kind, state from saved_pages"
    wait_until(lambda: ui.rows(pages) == [("run", "counted")], "the page is taken in")
    assert ui.rows("select distinct verdict from run_page_checks where verdict = 'differs'") == []


def test_a_schedule_that_is_switched_on_ticks_and_ingests(ui: Ui, saved: Path) -> None:
    submission = json.loads((saved / "submissions" / "1.json").read_text())
    submission["data"]["submissions"][0]["is_disqualified"] = True
    (saved / "submissions" / "1.json").write_text(json.dumps(submission))

    ui.start_schedule("nightly")

    wait_until(lambda: "SUCCESS" in ui.ticks("nightly"), "the schedule has ticked")
    wait_until(lambda: ui.rows("select count(*) from rankings") == [(74,)], "its run is published")
