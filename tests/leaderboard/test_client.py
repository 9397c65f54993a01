"""The client against a real server on loopback: what it asks for, when, and what it refuses.

Its rules on their own (addresses, Retry-After) are here too. Paging and resuming are tested
elsewhere.
"""

import gzip
import os
import shutil
import socket
import ssl
import subprocess
import time
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import certifi
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.leaderboard.client import (
    Client,
    Limits,
    RequestBudgetExhausted,
    refusal_of,
    retry_after_s,
)
from tests.leaderboard_server import (
    JSON,
    Fault,
    LeaderboardServer,
    Reply,
    drip,
    dropped,
    encoded,
    gzip_bomb,
    html,
    http_date,
    large,
    redirect,
    slow,
    status,
    tiny_archive,
    verbatim,
    wrong_length,
)

QUICK = Limits(tries=4, first_backoff_s=0.01, read_s=0.3, request_s=0.6, body_bytes=100_000)
NAME = "leaderboard.test"
EMPTY_GZIP = gzip.compress(b"")
NOW = datetime(2026, 8, 14, 12, tzinfo=UTC)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LeaderboardServer]:
    saved = os.environ.get("KERNELINDEX_ARCHIVE")
    with LeaderboardServer(Path(saved) if saved else tiny_archive(tmp_path)) as server:
        yield server


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Names and the addresses that they resolve to; all other names resolve as they do."""
    table: dict[str, list[str]] = {}
    really = socket.getaddrinfo

    def resolve(host: str, *args: Any, **options: Any) -> list[Any]:
        addresses = table.get(host, [host])
        return [found for address in addresses for found in really(address, *args, **options)]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return table


def client_of(server: LeaderboardServer, **settings: Any) -> Client:
    defaults: dict[str, Any] = {
        "base_url": server.url,
        "allowed_hosts": frozenset({"127.0.0.1", "localhost", NAME}),
        "max_requests": 100,
        "allow_private_hosts": True,
        "request_interval_s": 0.0,
        "limits": QUICK,
    }
    return Client(**{**defaults, **settings})


def gaps_s(server: LeaderboardServer) -> list[float]:
    """Seconds from each request to the next, as the server saw them come."""
    times = [request.at for request in server.requests]
    return [after - before for before, after in pairwise(times)]


# An answer


def test_a_page_has_its_bytes_and_says_where_it_came_from(server: LeaderboardServer) -> None:
    with client_of(server) as client:
        answer = client.get("/submissions?kernel_id=1&limit=2")
    assert answer.page is not None
    assert answer.page.body == server.answer("/submissions?kernel_id=1&limit=2").body
    assert answer.page.locator == answer.locator == "/submissions?kernel_id=1&limit=2"
    assert answer.resolved_locator == f"{server.url}/submissions?kernel_id=1&limit=2"
    assert (answer.status, answer.tries, answer.problem) == (200, 1, None)
    assert answer.media_type == "application/json"
    assert answer.size_bytes == len(answer.page.body)
    assert answer.duration_s > 0
    assert answer.fetched_at.tzinfo is UTC


def test_gzip_is_asked_for_and_undone(server: LeaderboardServer) -> None:
    with client_of(server) as client:
        answer = client.get("/kernels")
    assert server.requests[0].headers["accept-encoding"] == "gzip"
    assert answer.page is not None
    assert answer.page.body == server.answer("/kernels").body


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (gzip.compress(b'{"data": ') + gzip.compress(b"[1]}"), "gzip"),
        (gzip.compress(b'{"data": ') + EMPTY_GZIP * 1_000 + gzip.compress(b"[1]}"), "gzip"),
        (gzip.compress(b'{"data": [1]}'), "x-gzip"),
    ],
    ids=["two members", "members of nothing between them", "x-gzip"],
)
def test_whatever_is_legal_gzip_is_undone(server: LeaderboardServer, body: bytes, encoding: str) -> None:
    server.misbehave("/kernels", encoded(body, encoding))
    with client_of(server) as client:
        answer = client.get("/kernels")
    assert (answer.tries, answer.problem) == (1, None)
    assert answer.page is not None
    assert answer.page.body == b'{"data": [1]}'


@pytest.mark.parametrize("validator", ["etag", "last_modified"])
def test_an_unchanged_page_costs_a_304(server: LeaderboardServer, validator: str) -> None:
    with client_of(server) as client:
        first = client.get("/kernels/1")
        second = client.get("/kernels/1", **{validator: getattr(first, validator)})
    assert (second.status, second.page, second.size_bytes, second.problem) == (304, None, 0, None)


@pytest.mark.parametrize("validator", ["etag", "last_modified"])
def test_a_changed_page_comes_whole(server: LeaderboardServer, validator: str) -> None:
    locator = "/submissions?kernel_id=1"
    with client_of(server) as client:
        first = client.get(locator)
        server.add(1, id=10**6)
        second = client.get(locator, **{validator: getattr(first, validator)})
    assert second.status == 200
    assert second.page is not None
    assert second.etag != first.etag


def test_an_etag_of_any_letters_is_sent(server: LeaderboardServer) -> None:
    with client_of(server) as client:
        assert client.get("/kernels", etag='"größe 🦆"').status == 200


def test_a_304_that_nobody_asked_for_is_a_problem(server: LeaderboardServer) -> None:
    server.misbehave("/kernels", status(304))
    with client_of(server) as client:
        answer = client.get("/kernels")
    assert answer.page is None
    assert answer.problem == "/kernels: the server answers with status 304"


@pytest.mark.parametrize("locator", ["kernels", "https://other.test/kernels", "", "/a\x00b"])
def test_a_locator_that_is_none_is_an_error(server: LeaderboardServer, locator: str) -> None:
    with client_of(server) as client, pytest.raises(ValueError, match="the locator"):
        client.get(locator)
    assert not server.requests


# Polite


def test_requests_to_a_host_are_spaced(server: LeaderboardServer) -> None:
    server.misbehave("/kernels", status(503), redirect("/api/kernels/1"))
    with client_of(server, request_interval_s=0.1) as client:
        client.get("/kernels")
        client.get("/kernels")
    assert len(server.requests) == 4
    assert min(gaps_s(server)) >= 0.1


def test_one_request_is_made_at_a_time(server: LeaderboardServer) -> None:
    server.misbehave("/kernels", slow(0.1), slow(0.1), slow(0.1))
    with client_of(server, request_interval_s=0.1) as client, ThreadPoolExecutor(3) as threads:
        answers = list(threads.map(client.get, ["/kernels"] * 3))
    assert [answer.status for answer in answers] == [200, 200, 200]
    assert min(gaps_s(server)) >= 0.2


def test_the_user_agent_names_project_and_contact(server: LeaderboardServer) -> None:
    with client_of(server, contact="+https://kernels.test/contact") as client:
        client.get("/kernels")
    agent = server.requests[0].headers["user-agent"]
    assert agent.startswith("kernelindex-pipeline/")
    assert agent.endswith(" (+https://kernels.test/contact)")


@pytest.mark.parametrize("code", [429, 503])
@pytest.mark.parametrize("retry_after", [lambda: "90", lambda: http_date(90)])
def test_retry_after_is_honoured(
    server: LeaderboardServer, code: int, retry_after: Callable[[], str]
) -> None:
    slept: list[float] = []
    server.misbehave("/kernels", status(code, retry_after()))
    with client_of(server, sleep=slept.append) as client:
        answer = client.get("/kernels")
    assert (answer.status, answer.tries) == (200, 2)
    assert [round(seconds, -1) for seconds in slept] == [90]


def test_a_wait_that_is_too_long_fails_the_page_and_leaves_the_host_alone(
    server: LeaderboardServer,
) -> None:
    server.misbehave("/kernels", status(429, "3600"))
    with client_of(server) as client:
        first, second = client.get("/kernels"), client.get("/kernels/1")
    assert (first.status, first.tries) == (429, 1)
    assert "a wait of 3600 s" in (first.problem or "")
    assert second.status == 0
    assert "run again later" in (second.problem or "")
    assert len(server.requests) == 1


def test_backoff_doubles_with_jitter(server: LeaderboardServer) -> None:
    server.misbehave("/kernels", *[status(500)] * 10)
    limits = Limits(tries=5, first_backoff_s=8.0, wait_s=30.0)
    runs: list[list[float]] = []
    for _ in range(2):
        slept: list[float] = []
        with client_of(server, limits=limits, sleep=slept.append) as client:
            client.get("/kernels")
        runs.append(slept)
    for waits in zip(*runs, [8, 16, 30, 30], strict=True):
        assert waits[2] / 2 - 1 < min(waits[:2]) <= max(waits[:2]) <= waits[2]
    assert any(abs(first - second) > 0.1 for first, second in zip(*runs, strict=True))


@pytest.mark.parametrize(
    "fault",
    [
        status(408),
        status(429),
        status(500),
        status(503),
        slow(5),
        dropped(),
        dropped(0.5),
        wrong_length(+10),
        encoded(b"not gzip"),
        encoded(gzip.compress(b"{}" * 1000)[:-9]),
        encoded(gzip.compress(b"{}") + b"more"),
        encoded(gzip.compress(b"{}") + gzip.compress(b"{}")[:-9]),
    ],
    ids=[
        *("408", "429", "500", "503", "hang", "dropped", "dropped in the body", "length too long"),
        *("not gzip", "gzip cut off", "gzip with more behind", "second member cut off"),
    ],
)
def test_a_fault_that_passes_is_survived(server: LeaderboardServer, fault: Fault) -> None:
    server.misbehave("/kernels", fault)
    with client_of(server) as client:
        answer = client.get("/kernels")
    assert (answer.status, answer.tries, answer.problem) == (200, 2, None)
    assert answer.page is not None
    assert answer.page.body == server.answer("/kernels").body


def test_tries_are_bounded_and_the_next_page_goes_on(server: LeaderboardServer) -> None:
    server.misbehave("/kernels$", *[status(502)] * 10)
    with client_of(server) as client:
        failed, fine = client.get("/kernels"), client.get("/kernels/1")
    assert (failed.status, failed.tries) == (502, 4)
    assert failed.page is not None
    assert "status 502 (tries: 4); run again later" in (failed.problem or "")
    assert fine.problem is None
    assert len(server.requests) == 5


def test_a_server_that_is_not_there_is_a_problem(server: LeaderboardServer) -> None:
    with client_of(server) as client:
        server.shutdown()
        server.server_close()
        answer = client.get("/kernels")
    assert (answer.status, answer.tries, answer.page) == (0, 4, None)
    assert "the connection failed" in (answer.problem or "")


def test_what_is_not_there_is_asked_for_once(server: LeaderboardServer) -> None:
    with client_of(server) as client:
        answer = client.get("/kernels/999999")
    assert (answer.status, answer.tries) == (404, 1)
    assert answer.page is not None
    assert answer.problem == "/kernels/999999: the server answers with status 404"


@pytest.mark.parametrize(
    "fault",
    [status(503), redirect("/api/kernels")],
    ids=["retry", "redirect"],
)
def test_every_request_counts_against_the_cap(server: LeaderboardServer, fault: Fault) -> None:
    server.misbehave("/kernels", fault)
    with client_of(server, max_requests=3) as client:
        client.get("/kernels")
        client.get("/kernels")
        with pytest.raises(RequestBudgetExhausted, match="made all its 3 requests"):
            client.get("/kernels")
        assert client.requests_made == 3
    assert len(server.requests) == 3


# Safe: where requests go


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"allow_private_hosts": False}, "only HTTPS"),
        ({"base_url": "ftp://127.0.0.1/api"}, "only HTTPS"),
        ({"base_url": "127.0.0.1/api"}, "only HTTPS"),
        ({"base_url": "https://elsewhere.test/api"}, "'elsewhere.test' is refused"),
        ({"base_url": "https://user:secret@127.0.0.1/api"}, "user name"),
        ({"base_url": "https://127.0.0.1:port/api"}, "port"),
    ],
)
def test_a_base_url_that_is_refused_is_an_error(
    server: LeaderboardServer, settings: dict[str, Any], why: str
) -> None:
    with pytest.raises(ValueError, match=why) as caught:
        client_of(server, **settings)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_to_an_allowed_host_is_followed(server: LeaderboardServer, code: int) -> None:
    elsewhere = f"http://localhost:{server.server_port}/api/kernels/1"
    server.misbehave("/kernels", redirect(elsewhere, code))
    with client_of(server) as client:
        answer = client.get("/kernels")
    assert answer.page is not None
    assert answer.page.body == server.pages["/kernels/1"]
    assert (answer.locator, answer.resolved_locator) == ("/kernels", elsewhere)
    assert server.requests[1].headers["host"] == f"localhost:{server.server_port}"


@pytest.mark.parametrize(
    ("location", "why"),
    [
        ("http://elsewhere.test/", "host 'elsewhere.test' is refused"),
        ("//169.254.169.254/latest/meta-data", "host '169.254.169.254' is refused"),
        ("http://2130706433/", "host '2130706433' is refused"),
        ("http://127.0.0.1:22/", "port 22 of 127.0.0.1 is refused"),
        ("http://user:secret@127.0.0.1/", "user name"),
        ("file:///etc/passwd", "file is refused"),
        ("gopher://127.0.0.1/", "gopher is refused"),
        ("http://[::1", "nothing that is a URL"),
        ("http://a\tb/", "nothing that is a URL"),
    ],
)
def test_a_redirect_to_where_nothing_is_allowed_is_refused(
    server: LeaderboardServer, location: str, why: str
) -> None:
    server.misbehave("/kernels", redirect(location))
    with client_of(server) as client:
        answer = client.get("/kernels")
    assert answer.page is None
    assert answer.tries == 1
    assert why in (answer.problem or "")
    assert "secret" not in f"{answer.problem} {answer.resolved_locator}"
    assert len(server.requests) == 1


def test_a_redirect_without_a_location_is_a_problem(server: LeaderboardServer) -> None:
    server.misbehave("/kernels", status(302))
    with client_of(server) as client:
        assert "nothing that is a URL" in (client.get("/kernels").problem or "")


def test_redirects_are_bounded(server: LeaderboardServer) -> None:
    server.misbehave("/kernels", *[redirect("/api/kernels")] * 20)
    with client_of(server) as client:
        answer = client.get("/kernels")
    assert answer.problem == "/kernels: the server redirects more than 5 times"
    assert len(server.requests) == 6


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("127.0.0.1", "loopback"),
        ("127.255.255.254", "loopback"),
        ("::1", "loopback"),
        ("10.1.2.3", "private"),
        ("172.16.0.1", "private"),
        ("172.31.255.255", "private"),
        ("192.168.1.1", "private"),
        ("fd12:3456::1", "private"),
        ("169.254.0.1", "link-local"),
        ("fe80::1", "link-local"),
        ("fe80::1%eth0", "link-local"),
        ("169.254.169.254", "metadata"),
        ("168.63.129.16", "metadata"),
        ("100.100.100.200", "metadata"),
        ("fd00:ec2::254", "metadata"),
        ("0.0.0.0", "unspecified"),
        ("0.1.2.3", "unspecified"),
        ("::", "unspecified"),
        ("100.64.0.1", "carrier-grade NAT"),
        ("224.0.0.1", "multicast"),
        ("ff02::1", "multicast"),
        ("240.0.0.1", "reserved"),
        ("255.255.255.255", "reserved"),
        ("192.0.2.1", "reserved"),
        ("198.18.0.1", "reserved"),
        ("2001:db8::1", "reserved"),
        ("fec0::1", "reserved"),
        ("::ffff:8.8.8.8", "IPv4-mapped"),
        ("::ffff:127.0.0.1", "IPv4-mapped"),
        ("::127.0.0.1", "IPv4-compatible"),
        ("64:ff9b::7f00:1", "NAT64"),
        ("64:ff9b:1::1", "NAT64"),
        ("2002:7f00:1::", "6to4"),
        ("2001:0:4136:e378:8000:63bf:3fff:fdd2", "Teredo"),
        ("8.8.8.8", None),
        ("172.15.255.255", None),
        ("172.32.0.0", None),
        ("100.63.255.255", None),
        ("100.128.0.0", None),
        ("2606:4700::1111", None),
    ],
)
def test_addresses_are_judged(address: str, kind: str | None) -> None:
    assert refusal_of(address) == kind
    expected = None if kind in ("loopback", "private") else kind
    assert refusal_of(address, allow_private=True) == expected


@given(st.ip_addresses())
def test_what_is_not_refused_is_a_public_address(address: Any) -> None:
    assert refusal_of(str(address)) or (address.is_global and not address.is_multicast)


@pytest.mark.parametrize(
    "addresses",
    [["127.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["::ffff:127.0.0.1"], ["169.254.169.254"]],
)
def test_a_name_is_refused_if_any_of_its_addresses_is(
    server: LeaderboardServer, names: dict[str, list[str]], addresses: list[str]
) -> None:
    names[NAME] = addresses
    base = f"https://{NAME}:{server.server_port}/api"
    with client_of(server, base_url=base, allow_private_hosts=False) as client:
        answer = client.get("/kernels")
    assert (answer.status, answer.tries, answer.page) == (0, 1, None)
    assert f"{refusal_of(addresses[-1])} address {addresses[-1]}" in (answer.problem or "")


def test_a_redirect_to_a_name_of_a_refused_address_is_refused(
    server: LeaderboardServer, names: dict[str, list[str]]
) -> None:
    names[NAME] = ["169.254.169.254"]
    server.misbehave("/kernels", redirect(f"http://{NAME}:{server.server_port}/latest/meta-data"))
    with client_of(server) as client:
        answer = client.get("/kernels")
    assert "metadata address 169.254.169.254" in (answer.problem or "")
    assert answer.page is None


def test_the_connection_goes_to_the_address_that_was_checked(
    server: LeaderboardServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = socket.getaddrinfo
    asked: list[str] = []

    def rebinding(host: str, *args: Any, **options: Any) -> list[Any]:
        asked.append(host)
        first = asked.count(NAME) == 1
        address = host if host != NAME else "127.0.0.1" if first else "127.0.0.2"
        return really(address, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    with client_of(server, base_url=f"http://{NAME}:{server.server_port}/api") as client:
        answer = client.get("/kernels")
    assert answer.status == 200
    assert asked.count(NAME) == 1
    assert server.requests[0].headers["host"] == f"{NAME}:{server.server_port}"


def test_the_next_address_is_tried_where_one_does_not_answer(
    server: LeaderboardServer, names: dict[str, list[str]]
) -> None:
    names[NAME] = ["127.0.0.2", "127.0.0.1"]
    with client_of(server, base_url=f"http://{NAME}:{server.server_port}/api") as client:
        assert client.get("/kernels").tries == 1


@pytest.fixture
def secure_server(server: LeaderboardServer, tmp_path: Path) -> LeaderboardServer:
    """The server with TLS and a certificate for NAME, in `certificate.pem`, that nobody trusts."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is needed to make a certificate")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = (
        "openssl req -x509 -nodes -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 "
        f"-subj /CN={NAME} -addext subjectAltName=DNS:{NAME}"
    )
    subprocess.run(
        [*command.split(), "-keyout", str(key), "-out", str(certificate)],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    return server


@pytest.mark.parametrize("name", [NAME, "localhost"])
def test_the_certificate_has_to_be_for_the_name_though_the_address_is_connected_to(
    secure_server: LeaderboardServer,
    names: dict[str, list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    monkeypatch.setattr(certifi, "where", lambda: str(tmp_path / "certificate.pem"))
    names[name] = ["127.0.0.1"]
    base = f"https://{name}:{secure_server.server_port}/api"
    with client_of(secure_server, base_url=base) as client:
        answer = client.get("/kernels")
    if name == NAME:
        assert (answer.status, answer.problem) == (200, None)
    else:
        assert "certificate is not valid for 'localhost'" in (answer.problem or "")


def test_a_certificate_that_nobody_vouches_for_is_refused(
    secure_server: LeaderboardServer, names: dict[str, list[str]]
) -> None:
    names[NAME] = ["127.0.0.1"]
    base = f"https://{NAME}:{secure_server.server_port}/api"
    with client_of(secure_server, base_url=base) as client:
        answer = client.get("/kernels")
    assert answer.status == 0
    assert "certificate verify failed" in (answer.problem or "")


# Safe: what is taken


@pytest.mark.parametrize(
    "fault",
    [
        gzip_bomb(20_000_000),
        encoded(EMPTY_GZIP * 2 + gzip.compress(b" " * 60_000) * 300),
        large(200_000),
        # Thirty thousand blocks of nothing: small when decompressed, yet never at an end.
        encoded(EMPTY_GZIP[:10] + b"\x00\x00\x00\xff\xff" * 30_000 + EMPTY_GZIP[10:]),
    ],
    ids=["gzip bomb", "gzip bomb in parts", "large body", "gzip of nothing"],
)
def test_a_body_over_the_cap_is_refused(server: LeaderboardServer, fault: Fault) -> None:
    server.misbehave("/kernels", fault)
    with client_of(server) as client:
        answer = client.get("/kernels")
    assert (answer.page, answer.tries) == (None, 1)
    assert "larger than 100000 bytes" in (answer.problem or "")


def test_a_bomb_is_never_held_whole(server: LeaderboardServer) -> None:
    server.misbehave("/kernels", gzip_bomb(20_000_000))
    with client_of(server) as client:
        tracemalloc.start()
        client.get("/kernels")
        _, most_bytes = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert most_bytes < 2_000_000


def test_a_body_of_just_the_cap_is_taken(server: LeaderboardServer) -> None:
    server.misbehave("/kernels", large(100_000), encoded(gzip.compress(b" " * 100_000)))
    with client_of(server) as client:
        assert [client.get("/kernels").size_bytes for _ in range(2)] == [100_000, 100_000]


@pytest.mark.parametrize("head", [False, True], ids=["body", "head"])
def test_a_server_that_drips_is_left(server: LeaderboardServer, head: bool) -> None:
    server.misbehave("/kernels", drip(0.02, head=head))
    limits = Limits(tries=1, read_s=0.3, request_s=0.5)
    began = time.monotonic()
    with client_of(server, limits=limits) as client:
        answer = client.get("/kernels")
    assert 0.4 < time.monotonic() - began < 2
    assert answer.page is None
    assert "no whole answer came in time" in (answer.problem or "")


@pytest.mark.parametrize(("read_s", "request_s"), [(0.2, 20), (20, 0.2)])
def test_a_server_that_hangs_is_left(
    server: LeaderboardServer,
    read_s: float,
    request_s: float,
) -> None:
    server.misbehave("/kernels", slow(30))
    began = time.monotonic()
    with client_of(server, limits=Limits(tries=1, read_s=read_s, request_s=request_s)) as client:
        answer = client.get("/kernels")
    assert time.monotonic() - began < 2
    assert (answer.status, answer.page) == (0, None)


def test_a_page_that_is_not_json_is_kept_as_evidence(server: LeaderboardServer) -> None:
    server.misbehave("/kernels", html())
    with client_of(server) as client:
        answer = client.get("/kernels")
    assert answer.page is not None
    assert answer.page.body == b"<html>Sign in</html>"
    assert answer.page.media_type == "text/html"
    assert answer.problem == "/kernels: the body is 'text/html' where JSON was asked for"
    assert len(server.requests) == 1


def test_an_empty_body_is_a_problem(server: LeaderboardServer) -> None:
    server.misbehave("/kernels", verbatim(Reply(200, b"", JSON)))
    with client_of(server) as client:
        answer = client.get("/kernels")
    assert (answer.page, answer.problem) == (None, "/kernels: the body is empty")


def test_an_encoding_that_was_not_asked_for_is_refused(server: LeaderboardServer) -> None:
    server.misbehave("/kernels", encoded(b"{}", "br"))
    with client_of(server) as client:
        assert "encoded as 'br'" in (client.get("/kernels").problem or "")


def test_what_is_left_of_one_answer_is_not_taken_for_the_next(server: LeaderboardServer) -> None:
    smuggled = Reply(200, b'{"data": "smuggled"}', JSON)
    short = Reply(200, b"{}" + smuggled.wire(), {**JSON, "Content-Length": "2"})
    server.misbehave("/kernels", verbatim(short))
    with client_of(server) as client:
        first, second = client.get("/kernels"), client.get("/kernels/1")
    assert first.page is not None
    assert first.page.body == b"{}"
    assert second.page is not None
    assert second.page.body == server.pages["/kernels/1"]


def test_nothing_is_sent_that_the_environment_knows(
    server: LeaderboardServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login someone password secret\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with client_of(server) as client:
        # The first answer sets a cookie.
        assert [client.get("/kernels").status for _ in range(2)] == [200, 200]
    for request in server.requests:
        assert not request.headers.keys() & {"cookie", "authorization", "proxy-authorization"}


# Retry-After on its own


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("120", 120),
        (" 0 ", 0),
        ("-5", 0),
        ("Fri, 14 Aug 2026 12:01:00 GMT", 60),
        ("Fri, 14 Aug 2026 12:01:00", 60),
        ("Fri, 14 Aug 2026 11:00:00 GMT", 0),
        ("soon", 0),
        ("9" * 5000, 0),
        (None, 0),
    ],
)
def test_retry_after_is_read_in_both_forms(header: str | None, seconds: float) -> None:
    assert retry_after_s(header, NOW) == seconds


@given(st.text() | st.from_regex(r"\w{3}, \d+ \w{3} \d+ \d+:\d+:\d+ [+-]\d+"))
def test_retry_after_can_be_anything(header: str) -> None:
    assert retry_after_s(header, NOW) >= 0
