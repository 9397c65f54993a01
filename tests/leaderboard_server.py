"""The leaderboard's API on loopback: a real HTTP server, for tests, over an archive directory.

It answers as DESIGN section 3 says, keeps what it serves in memory so that a test can change it,
logs each request, and misbehaves when told to. What a server can do to a client belongs here; what
a client should make of it belongs in the tests.

    python -m tests.leaderboard_server DIR [--port 8000]
"""

import argparse
import contextlib
import gzip
import hashlib
import json
import math
import re
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, unquote, urlsplit

API = "/api"
FILTERS = ("gpu_type", "evaluation_stack_version", "status")
RANKED = (
    "username",
    "sol_score",
    "latency_ms",
    "fast_1_count",
    "fast_1_total",
    "avg_speedup",
    "submitted_at",
)
JSON = {"Content-Type": "application/json"}

Row = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """A request as it came: `path` below the API's base, with its query; header names in lower
    case; `at` in seconds of the monotonic clock."""

    method: str
    path: str
    headers: dict[str, str]
    at: float


@dataclass(frozen=True)
class Reply:
    """An answer before it is sent."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)

    def wire(self) -> bytes:
        """The answer as it goes over the wire."""
        # A session cookie, as most sites set one: a client that keeps it is found out.
        own = {"Content-Length": str(len(self.body)), "Set-Cookie": "session=1; Path=/"}
        lines = [f"{name}: {value}\r\n" for name, value in {**own, **self.headers}.items()]
        return f"HTTP/1.1 {self.status} \r\n{''.join(lines)}\r\n".encode("latin-1") + self.body


class Handler(BaseHTTPRequestHandler):
    """Answers one connection's requests: as the API does, or as the next fault says."""

    protocol_version = "HTTP/1.1"
    server: "LeaderboardServer"

    def do_GET(self) -> None:
        """Answer a GET."""
        path = self.path.removeprefix(API)
        headers = {name.lower(): value for name, value in self.headers.items()}
        fault = self.server.received(Request(self.command, path, headers, time.monotonic()))
        fault(self, self.server.answer(path))

    def send(self, reply: Reply) -> None:
        """Send the reply as a good server does: see `finished`."""
        self.wfile.write(self.finished(reply).wire())

    def finished(self, reply: Reply) -> Reply:
        """The reply with validators, or a 304 in its place, compressed if the client accepts it."""
        if reply.status != 200:
            return reply
        etag = f'"{hashlib.sha256(reply.body).hexdigest()[:16]}"'
        modified = self.server.modified
        last_modified = format_datetime(modified, usegmt=True)
        headers = {"ETag": etag, "Last-Modified": last_modified, **reply.headers}
        # As RFC 9110 has it: the date counts only where no tag is given.
        if if_none_match := self.headers["If-None-Match"]:
            unchanged = etag in if_none_match
        else:
            since = self.headers["If-Modified-Since"]
            unchanged = since is not None and modified <= parsedate_to_datetime(since)
        if unchanged:
            return Reply(304, headers=headers)
        if "gzip" not in self.headers.get("Accept-Encoding", ""):
            return Reply(200, reply.body, headers)
        headers |= {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        return Reply(200, gzip.compress(reply.body, mtime=0), headers)

    def pause(self, seconds: float) -> bool:
        """Wait, and say whether to go on: a server that is being closed does not."""
        return not self.server.closing.wait(seconds)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing on stderr: `requests` is the log."""


# A fault answers one request in place of the server, knowing what a good server would have sent.
Fault = Callable[[Handler, Reply], None]


def fine(handler: Handler, reply: Reply) -> None:
    """No fault: what the server does unless told otherwise."""
    handler.send(reply)


def verbatim(reply: Reply) -> Fault:
    """Exactly this, whatever was asked for."""

    def fault(handler: Handler, _: Reply) -> None:
        handler.wfile.write(reply.wire())

    return fault


def status(code: int, retry_after: str | None = None) -> Fault:
    """This status, with a Retry-After header as it is given: seconds, or `http_date`."""
    asked = {} if retry_after is None else {"Retry-After": retry_after}
    return verbatim(Reply(code, b'{"error": "as told"}', JSON | asked))


def http_date(seconds_from_now: float) -> str:
    """A time in the form that HTTP headers have."""
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds_from_now), usegmt=True)


def redirect(location: str, code: int = 302) -> Fault:
    """Go elsewhere. Queue as many to the request's own path as a loop needs."""
    return verbatim(Reply(code, headers={"Location": location}))


def html() -> Fault:
    """A web page with status 200, as gateways and captive portals answer."""
    return verbatim(Reply(200, b"<html>Sign in</html>", {"Content-Type": "text/html"}))


def large(size_bytes: int) -> Fault:
    """A JSON string of this many bytes, not compressed."""
    return verbatim(Reply(200, b'"' + b"x" * (size_bytes - 2) + b'"', JSON))


def encoded(body: bytes, encoding: str = "gzip") -> Fault:
    """JSON that claims this encoding, over bytes that may or may not be what it says."""
    return verbatim(Reply(200, body, JSON | {"Content-Encoding": encoding}))


def gzip_bomb(size_bytes: int) -> Fault:
    """A thousand times smaller on the wire than it is."""
    return encoded(gzip.compress(b" " * size_bytes, compresslevel=1))


def deep_json(levels: int) -> Fault:
    """Lists in lists, to exhaust a parser's stack."""
    return verbatim(Reply(200, b'{"data":' + b"[" * levels + b"]" * levels + b"}", JSON))


def truncated_json(handler: Handler, reply: Reply) -> None:
    """Half of the body, sent as if it were all of it."""
    handler.send(replace(reply, body=reply.body[: len(reply.body) // 2]))


def wrong_length(by: int) -> Fault:
    """A Content-Length that is too long (by > 0) or too short (by < 0)."""

    def fault(handler: Handler, reply: Reply) -> None:
        whole = handler.finished(reply)
        length = {"Content-Length": str(len(whole.body) + by)}
        handler.wfile.write(replace(whole, headers=whole.headers | length).wire())

    return fault


def dropped(body_share: float | None = None) -> Fault:
    """The connection ends before any byte, or after this share of the body."""

    def fault(handler: Handler, reply: Reply) -> None:
        whole = handler.finished(reply)
        if body_share is not None:
            missing = math.ceil(len(whole.body) * (1 - body_share))
            handler.wfile.write(whole.wire()[:-missing])
        handler.close_connection = True

    return fault


def drip(interval_s: float = 1.0, *, head: bool = False) -> Fault:
    """A byte at a time, of the body or already of the head."""

    def fault(handler: Handler, reply: Reply) -> None:
        whole = handler.finished(reply)
        at_once = 0 if head else len(whole.wire()) - len(whole.body)
        handler.wfile.write(whole.wire()[:at_once])
        for byte in whole.wire()[at_once:]:
            if not handler.pause(interval_s):
                break
            handler.wfile.write(bytes([byte]))

    return fault


def slow(seconds: float) -> Fault:
    """The right answer, late. Late enough, it is a hang: closing the server ends it."""

    def fault(handler: Handler, reply: Reply) -> None:
        if handler.pause(seconds):
            handler.send(reply)

    return fault


def altered(change: Callable[[Row], Row]) -> Fault:
    """The right answer with other data, validators and all."""

    def fault(handler: Handler, reply: Reply) -> None:
        handler.send(replace(reply, body=_json({"data": change(json.loads(reply.body)["data"])})))

    return fault


def lying_total(total: int) -> Fault:
    """A listing that claims this many rows."""
    return altered(lambda data: {**data, "total": total})


def empty_page() -> Fault:
    """A listing's page without its rows."""
    return altered(lambda data: {**data, "submissions": []})


def then(act: Callable[[], object]) -> Fault:
    """The right answer, and something happens before the client can ask again: rows shift, say."""

    def fault(handler: Handler, reply: Reply) -> None:
        whole = handler.finished(reply)
        act()
        handler.wfile.write(whole.wire())

    return fault


class LeaderboardServer(ThreadingHTTPServer):
    """A server of the archive in a directory, on loopback; runs while it is entered.

    `url` is the API's base; `requests` are those that came; `submissions` the rows by kernel id, in
    the order they are served; `pages` the bytes of /kernels and /kernels/{id} by path; `max_limit`
    the most rows a page may have. A test may change all of them, with `lock` held if the server is
    at work.
    """

    daemon_threads = True

    def __init__(self, directory: Path, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}{API}"
        self.requests: list[Request] = []
        self.max_limit = 50
        self.modified = datetime.now(UTC).replace(microsecond=0) - timedelta(days=1)
        self.lock = threading.RLock()
        self.closing = threading.Event()
        self._faults: list[tuple[str, list[Fault]]] = []
        # The archive's own bytes, so that an unchanged page has the digest of the saved one.
        self.pages = {"/kernels": (directory / "kernels.json").read_bytes()}
        self.submissions: dict[int, list[Row]] = {}
        for path in sorted((directory / "kernels").glob("*.json")):
            self.pages[f"/kernels/{path.stem}"] = path.read_bytes()
        # In order of kernel and offset: 12.json, 12.50.json, 12.100.json.
        for path in sorted((directory / "submissions").glob("*.json"), key=_kernel_and_offset):
            rows = json.loads(path.read_bytes())["data"]["submissions"]
            self.submissions.setdefault(_kernel_and_offset(path)[0], []).extend(rows)

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.closing.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that goes away in the middle: the faults make it do so."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)

    def add(self, kernel_id: int, **fields: Any) -> None:
        """A submission comes in, the newest first."""
        with self.lock:
            self.submissions.setdefault(kernel_id, []).insert(0, {"kernel_id": kernel_id, **fields})
            self.count_submissions()

    def change(self, submission_id: int, **fields: Any) -> None:
        """A submission becomes another after the fact: disqualified, or scored anew."""
        with self.lock:
            rows = [row for rows in self.submissions.values() for row in rows]
            next(row for row in rows if row["id"] == submission_id).update(fields)
            self.modified += timedelta(seconds=1)

    def remove(self, submission_id: int) -> None:
        """A submission vanishes."""
        with self.lock:
            for rows in self.submissions.values():
                rows[:] = [row for row in rows if row["id"] != submission_id]
            self.count_submissions()

    def count_submissions(self) -> None:
        """Let /kernels say how many submissions there are, and all pages be modified just now."""
        listing = json.loads(self.pages["/kernels"])
        for kernel in listing["data"]["kernels"]:
            kernel["submission_count"] = len(self.submissions.get(kernel["id"], []))
        self.pages["/kernels"] = _json(listing)
        self.modified += timedelta(seconds=1)

    def misbehave(self, pattern: str, *faults: Fault) -> None:
        """The next requests whose path and query match get these faults, one each, in this order.

        `fine` lets one through; once they are used up the server is good again.
        """
        with self.lock:
            self._faults.append((pattern, list(faults)))

    def received(self, request: Request) -> Fault:
        """Log the request, and say how to answer it."""
        with self.lock:
            self.requests.append(request)
            for pattern, faults in self._faults:
                if faults and re.search(pattern, request.path):
                    return faults.pop(0)
            return fine

    def answer(self, path_and_query: str) -> Reply:
        """What a good server answers."""
        url = urlsplit(path_and_query)
        query = dict(parse_qsl(url.query))
        ranked = re.fullmatch(r"/leaderboard/kernel/(\d+)/([^/]+)", url.path)
        with self.lock:
            try:
                if url.path in self.pages:
                    return Reply(200, self.pages[url.path], JSON)
                if url.path == "/submissions":
                    return Reply(200, _json({"data": self._listing(query)}), JSON)
                if ranked and f"/kernels/{ranked[1]}" in self.pages:
                    query |= {"kernel_id": ranked[1], "gpu_type": unquote(ranked[2])}
                    return Reply(200, _json({"data": {"rankings": self._rankings(query)}}), JSON)
            except (KeyError, ValueError) as error:
                return Reply(422, _json({"error": repr(error)}), JSON)
        return Reply(404, _json({"error": "not found"}), JSON)

    def _rows(self, query: dict[str, str]) -> list[Row]:
        wanted = [(name, query[name]) for name in FILTERS if name in query]
        rows = self.submissions.get(int(query["kernel_id"]), [])
        return [row for row in rows if all(row.get(name) == value for name, value in wanted)]

    def _listing(self, query: dict[str, str]) -> Row:
        offset, limit = int(query.get("offset", 0)), int(query.get("limit", 20))
        if offset < 0 or limit < 1:
            raise ValueError("the offset is from 0 and the limit from 1")
        rows, limit = self._rows(query), min(limit, self.max_limit)
        page = rows[offset : offset + limit]
        return {"submissions": page, "total": len(rows), "offset": offset, "limit": limit}

    def _rankings(self, query: dict[str, str]) -> list[Row]:
        best: dict[str, Row] = {}
        for row in sorted(self._rows(query), key=lambda row: -(row.get("sol_score") or 0)):
            if row.get("is_correct") and not row.get("is_disqualified") and row.get("sol_score"):
                best.setdefault(row["username"], row)
        rankings = [
            {"rank": rank, **{name: row.get(name) for name in RANKED}}
            for rank, row in enumerate(best.values(), 1)
        ]
        kernel = json.loads(self.pages[f"/kernels/{query['kernel_id']}"])["data"]
        references = {
            "SOL Bound": _geomean(kernel, "sol_ms"),
            "Scoring Baseline": _geomean(kernel, "baseline_latency_ms"),
            "Reference Implementation": kernel.get("baseline_latency_ms"),
        }
        unranked = {"rank": None, **dict.fromkeys(RANKED)}
        return rankings + [
            {**unranked, "username": name, "latency_ms": ms} for name, ms in references.items()
        ]


def _kernel_and_offset(path: Path) -> list[int]:
    return [int(part) for part in path.stem.split(".")]


def _geomean(kernel: Row, name: str) -> float | None:
    values = [w[name] for w in kernel.get("workloads", []) if w.get(name)]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def _json(value: object) -> bytes:
    # Written as the archive is: a listing asked for as it was saved has the same bytes.
    return json.dumps(value, indent=1).encode()


def tiny_archive(directory: Path) -> Path:
    """Write an archive of one kernel (id 1) with three submissions, and return the directory."""
    kernel: Row = {"id": 1, "name": "001_tiny", "title": "001_tiny", "gpu_types": ["B200"]}
    tensor = {"shape": ["n"], "dtype": "float32"}
    detail = {
        "axes": {"n": {"type": "var"}},
        "inputs": {"x": tensor},
        "outputs": {"y": tensor},
        "baseline_latency_ms": 1.0,
        "workloads": [{"axes": {"n": 8}, "baseline_latency_ms": 1.0, "sol_ms": 0.1}],
    }
    alike = {
        "kernel_id": 1,
        "status": "COMPLETED",
        "is_correct": True,
        "is_disqualified": False,
        "gpu_type": "B200",
        "evaluation_stack_version": "v1.1",
    }
    rows = [
        {"id": n, "username": f"user {n % 2}", "sol_score": n / 10, "latency_ms": 1 / n, **alike}
        for n in (3, 2, 1)
    ]
    for name, data in {
        "kernels.json": {"kernels": [{**kernel, "tags": [], "submission_count": 3}]},
        "kernels/1.json": {**kernel, "tags": [], **detail},
        "submissions/1.json": {"submissions": rows, "total": 3, "offset": 0, "limit": 20},
    }.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(_json({"data": data}))
    return directory


def main() -> None:
    """Serve a directory until interrupted, printing each request."""
    parser = argparse.ArgumentParser(description="Serve an archive as the leaderboard's API.")
    parser.add_argument("directory", type=Path, metavar="DIR")
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    with LeaderboardServer(options.directory, options.port) as server:
        print(server.url, flush=True)
        shown = 0
        with contextlib.suppress(KeyboardInterrupt):
            while not server.closing.wait(0.2):
                for request in server.requests[shown:]:
                    print(request.method, request.path, flush=True)
                    shown += 1


if __name__ == "__main__":
    main()
