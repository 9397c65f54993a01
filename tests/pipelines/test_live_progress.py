"""What a long crawl says on its way."""

import logging
from types import SimpleNamespace

import pytest

from pipelines import progress as module
from pipelines.progress import progress, time_in_words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (42.4, "42 s"), (99.4, "99 s"), (101, "2 min"), (1800, "30 min"), (9000, "2.5 h")],
)
def test_times_are_said_as_people_say_them(seconds: float, words: str) -> None:
    assert time_in_words(seconds) == words


def test_the_time_left_goes_by_the_work_that_is_left(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = 0.0
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now))
    work = {"small": 2.0, "done already": 0.0, "large": 40.0, "last": 6.0}
    with caplog.at_level(logging.INFO, "kernelindex"):
        for key in progress(list(work), "fetching", work):
            now += 3 * work[key]
    assert caplog.messages == [
        "fetching 4 kernels",
        "fetching: 1 of 4 kernels done, about 2 min left",
        "fetching: 3 of 4 kernels done, about 18 s left",
    ]
