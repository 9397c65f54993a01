"""The server that tests fetch from: that it answers as the API does, and misbehaves as it says."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.leaderboard_server import (
    LeaderboardServer,
    dropped,
    empty_page,
    fine,
    lying_total,
    status,
    then,
    tiny_archive,
    truncated_json,
)

LISTING = "/submissions?kernel_id=1"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LeaderboardServer]:
    saved = os.environ.get("KERNELINDEX_ARCHIVE")
    with LeaderboardServer(Path(saved) if saved else tiny_archive(tmp_path)) as server:
        yield server


def get(server: LeaderboardServer, path: str, **headers: str) -> httpx.Response:
    return httpx.get(server.url + path, headers=headers, trust_env=False)


def data(server: LeaderboardServer, path: str) -> Any:
    return get(server, path).json()["data"]


def test_kernels_are_the_bytes_of_the_archive(server: LeaderboardServer) -> None:
    assert get(server, "/kernels").content == server.pages["/kernels"]
    assert data(server, "/kernels/1")["id"] == 1
    assert get(server, "/kernels/0").status_code == 404


def test_submissions_are_paged(server: LeaderboardServer) -> None:
    for number in range(60):
        server.add(1, id=10**6 + number)
    ids = [row["id"] for row in server.submissions[1]]
    first, last = data(server, LISTING), data(server, f"{LISTING}&offset=50&limit=99")
    assert [row["id"] for row in first["submissions"]] == ids[:20]
    assert [row["id"] for row in last["submissions"]] == ids[50:]
    assert (first["total"], first["offset"], first["limit"]) == (len(ids), 0, 20)
    assert (last["total"], last["offset"], last["limit"]) == (len(ids), 50, 50)


@pytest.mark.parametrize("query", ["", "?kernel_id=x", "?kernel_id=1&limit=0"])
def test_a_query_that_makes_no_sense_is_a_422(server: LeaderboardServer, query: str) -> None:
    assert get(server, f"/submissions{query}").status_code == 422


@pytest.mark.parametrize("name", ["gpu_type", "evaluation_stack_version", "status"])
def test_submissions_are_filtered(server: LeaderboardServer, name: str) -> None:
    server.add(1, id=10**6, **{name: "other"})
    listing = data(server, f"{LISTING}&{name}=other")
    assert [row["id"] for row in listing["submissions"]] == [10**6]
    assert listing["total"] == 1


def test_the_leaderboard_has_each_users_best_and_the_references(server: LeaderboardServer) -> None:
    common = {"gpu_type": "X", "is_correct": True, "evaluation_stack_version": "v1.1"}
    server.add(1, id=10**6, username="a", sol_score=0.5, **common)
    server.add(1, id=10**6 + 1, username="a", sol_score=0.7, **common)
    server.add(1, id=10**6 + 2, username="b", sol_score=0.6, **common)
    server.add(1, id=10**6 + 3, username="c", sol_score=0.9, is_disqualified=True, **common)
    rankings = data(server, "/leaderboard/kernel/1/X?evaluation_stack_version=v1.1")["rankings"]
    assert [(row["rank"], row["username"], row["sol_score"]) for row in rankings] == [
        (1, "a", 0.7),
        (2, "b", 0.6),
        (None, "SOL Bound", None),
        (None, "Scoring Baseline", None),
        (None, "Reference Implementation", None),
    ]


def test_validators_answer_304_until_something_changes(server: LeaderboardServer) -> None:
    first = get(server, LISTING)
    by_tag = {"If-None-Match": first.headers["etag"]}
    by_date = {"If-Modified-Since": first.headers["last-modified"]}
    submission_id = server.submissions[1][0]["id"]
    assert get(server, LISTING, **by_tag).status_code == 304
    assert get(server, LISTING, **by_date).status_code == 304
    server.change(submission_id, is_disqualified=True)
    assert get(server, LISTING, **by_tag).status_code == 200
    assert get(server, LISTING, **by_date).status_code == 200
    server.remove(submission_id)
    assert submission_id not in [row["id"] for row in data(server, LISTING)["submissions"]]


def test_gzip_is_sent_only_where_it_is_accepted(server: LeaderboardServer) -> None:
    zipped = get(server, "/kernels", **{"Accept-Encoding": "gzip"})
    plain = get(server, "/kernels", **{"Accept-Encoding": "identity"})
    assert zipped.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert zipped.content == plain.content


def test_requests_are_logged(server: LeaderboardServer) -> None:
    get(server, LISTING, **{"X-Asked-By": "a test"})
    (request,) = server.requests
    assert (request.method, request.path) == ("GET", LISTING)
    assert request.headers["x-asked-by"] == "a test"


def test_faults_answer_in_the_order_they_were_queued(server: LeaderboardServer) -> None:
    server.misbehave("/submissions", fine, status(429, "1"), lying_total(999), empty_page())
    server.misbehave("/kernels", dropped())
    assert get(server, LISTING).status_code == 200
    assert get(server, LISTING).headers["retry-after"] == "1"
    assert data(server, LISTING)["total"] == 999
    assert data(server, LISTING)["submissions"] == []
    assert data(server, LISTING)["submissions"] == server.submissions[1]
    with pytest.raises(httpx.RemoteProtocolError):
        get(server, "/kernels")


def test_rows_shift_while_one_pages(server: LeaderboardServer) -> None:
    ids = [row["id"] for row in server.submissions[1]]
    server.misbehave(LISTING.replace("?", r"\?"), then(lambda: server.add(1, id=10**6)))
    first = data(server, f"{LISTING}&limit=1")["submissions"]
    second = data(server, f"{LISTING}&offset=1&limit=1")["submissions"]
    assert [row["id"] for row in first + second] == [ids[0], ids[0]]


def test_truncated_json_is_sent_as_if_it_were_whole(server: LeaderboardServer) -> None:
    server.misbehave("/kernels", truncated_json)
    response = get(server, "/kernels")
    assert response.status_code == 200
    with pytest.raises(json.JSONDecodeError):
        response.json()


def test_a_server_can_lower_its_limit(server: LeaderboardServer) -> None:
    server.max_limit = 2
    assert data(server, f"{LISTING}&limit=50")["limit"] == 2
