"""Record events, by example. What decisions do to them is in `test_decisions`."""

from datetime import UTC, datetime

from tests.rankings.boards import Row, rank_runs


def run(run_digest: str, primary_value: int, observed_at: str | None, **more: object) -> Row:
    when = observed_at and datetime.fromisoformat(observed_at).replace(tzinfo=UTC)
    return {"run_digest": run_digest, "primary_value": primary_value, "observed_at": when} | more


def holders(tables: dict[str, list[Row]]) -> list[tuple[str, str | None]]:
    return [(row["run_digest"], row["previous_run_digest"]) for row in tables["record_events"]]


def test_a_run_faster_than_all_before_it_takes_the_record() -> None:
    tables = rank_runs(
        [
            run("sha256:2c", 238_721, "2026-08-12T02:40:23.566"),
            run("sha256:35", 269_660, "2026-08-09T10:04:10.378"),
            run("sha256:36", 267_348, "2026-08-11T17:40:50.405"),
            run("sha256:37", 268_000, "2026-08-11T18:00:00"),
        ]
    )
    assert holders(tables) == [
        ("sha256:35", None),
        ("sha256:36", "sha256:35"),
        ("sha256:2c", "sha256:36"),
    ]
    assert tables["record_events"][0] == {
        "comparison_key": "sha256:06",
        "event_number": 1,
        "run_digest": "sha256:35",
        "previous_run_digest": None,
        "taken_at": datetime(2026, 8, 9, 10, 4, 10, 378_000, tzinfo=UTC),
        "cause": "new_run",
        "policy": "ranking-v1",
    }


def test_an_equal_run_takes_no_record() -> None:
    tables = rank_runs([run("sha256:0a", 1000, "2026-08-01"), run("sha256:0b", 1000, "2026-08-02")])
    assert holders(tables) == [("sha256:0a", None)]


def test_at_the_same_moment_the_digest_comes_first() -> None:
    tables = rank_runs([run("sha256:0b", 1000, "2026-08-01"), run("sha256:0a", 1001, "2026-08-01")])
    assert holders(tables) == [("sha256:0a", None), ("sha256:0b", "sha256:0a")]


def test_runs_without_a_time_or_a_rank_have_no_part() -> None:
    tables = rank_runs(
        [
            run("sha256:0a", 10, None),
            run("sha256:0b", 20, "2026-08-01", review=("RETRACTED",)),
            run("sha256:0c", 30, "2026-08-02"),
        ]
    )
    assert holders(tables) == [("sha256:0c", None)]


def test_each_group_has_its_own_records() -> None:
    tables = rank_runs(
        [
            run("sha256:0a", 1000, "2026-08-01", comparison_key="sha256:06"),
            run("sha256:0b", 1001, "2026-08-02", comparison_key="sha256:07"),
        ]
    )
    assert holders(tables) == [("sha256:0a", None), ("sha256:0b", None)]
