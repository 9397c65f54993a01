"""The HTTP layer of the live source: one page at a time, politely and safely.

When a request may be made, to whom, and how much of an answer is taken belong here. Which pages to
ask for (paging, increments, resuming) and what a page says do not.
"""

import random
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from importlib.metadata import PackageNotFoundError, version
from ipaddress import ip_address, ip_network
from types import TracebackType
from typing import Any, Self

import httpcore
import httpx

from assets.leaderboard.snapshots import Page

CONTACT = "see the README of kernelindex-pipeline"

_REDIRECTS = (301, 302, 303, 307, 308)

# Networks that no public server is in; the first that holds an address names it. Written out, since
# what `ipaddress` calls private differs from one Python to the next.
_SPECIAL_NETWORKS = [
    (ip_network(network), kind)
    for kind, networks in (
        ("metadata", "169.254.169.254 168.63.129.16 100.100.100.200 fd00:ec2::254 fd20:ce::254"),
        ("loopback", "127.0.0.0/8 ::1"),
        ("private", "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 fc00::/7"),
        ("unspecified", "0.0.0.0/8 ::"),
        ("link-local", "169.254.0.0/16 fe80::/10"),
        ("carrier-grade NAT", "100.64.0.0/10"),
        ("multicast", "224.0.0.0/4 ff00::/8"),
        ("IPv4-mapped", "::ffff:0:0/96"),
        ("IPv4-compatible", "::/96"),
        ("NAT64", "64:ff9b::/96 64:ff9b:1::/48"),
        ("6to4", "2002::/16 192.88.99.0/24"),
        ("Teredo", "2001::/32"),
        ("reserved", "192.0.0.0/24 192.0.2.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24"),
        ("reserved", "240.0.0.0/4 2001::/23 2001:db8::/32 3fff::/20"),
        # All of IPv6 that is not 2000::/3, the global unicast addresses.
        ("reserved", "::/3 4000::/2 8000::/1"),
    )
    for network in networks.split()
]


class RequestBudgetExhausted(Exception):
    """The run has made all the requests that it may make."""


class _Refused(Exception):
    """Our own rules forbid this request or this answer; another try would end the same."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How often, how long and how much, at most.

    `first_backoff_s` doubles with each try. Where a server asks for a longer wait than `wait_s`,
    the page fails. `read_s` is for connecting and for each read and write, `request_s` for a whole
    request. Bytes are counted both before and after decompression.
    """

    tries: int = 5
    first_backoff_s: float = 2.0
    wait_s: float = 300.0
    read_s: float = 30.0
    request_s: float = 120.0
    body_bytes: int = 32 * 1024 * 1024
    redirects: int = 5


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Answer:
    """What asking for one page came to, after redirects and retries.

    `page` is what was served, also where `problem` says that it is no good; None for a 304 and
    where no whole body came. `problem` is None for a good page and for a 304. `status` is the last
    HTTP status, 0 if none came; `tries` counts attempts, redirects within one not counted.
    `size_bytes` is the body's, after decompression; `duration_s` was spent on the wire, waits not
    counted; `fetched_at` is UTC. Headers are as served, so never send back the validators of a
    page that was no good: its 304 would make it last.
    """

    page: Page | None
    locator: str
    resolved_locator: str
    status: int
    tries: int
    size_bytes: int
    duration_s: float
    fetched_at: datetime
    etag: str | None
    last_modified: str | None
    media_type: str | None
    problem: str | None


def refusal_of(address: str, *, allow_private: bool = False) -> str | None:
    """The kind of IP address for which this one is refused; None if one may connect to it.

    `allow_private` lets loopback and private addresses pass, and no others. Raises ValueError for
    what is no IP address.
    """
    ip = ip_address(address)
    kind = next((kind for network, kind in _SPECIAL_NETWORKS if ip in network), None)
    return None if allow_private and kind in ("loopback", "private") else kind


def retry_after_s(header: str | None, now: datetime) -> float:
    """Seconds that a Retry-After header (seconds or HTTP date) asks for; 0 if it can't be read."""
    try:
        return max(0.0, float(int(header or "")))
    except (ValueError, OverflowError):
        pass
    try:
        at = parsedate_to_datetime(header or "")
        return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - now).total_seconds())
    except (ValueError, OverflowError):
        return 0.0


class _Deadline:
    """The time at which the request under way has to be over, on the monotonic clock."""

    at = 0.0

    def cut(self, timeout: float | None) -> float:
        """The timeout, or what is left of the request's time if that is less."""
        left = self.at - time.monotonic()
        if left <= 0:
            raise httpcore.ReadTimeout("the request took too long in total")
        return left if timeout is None else min(timeout, left)


class _TimedStream(httpcore.NetworkStream):
    """A connection whose every read and write ends by the deadline.

    A timeout per read is not enough: a server that sends a byte a second never runs into it.
    """

    def __init__(self, stream: httpcore.NetworkStream, deadline: _Deadline) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._deadline.cut(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._deadline.cut(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        timeout = self._deadline.cut(timeout)
        stream = self._stream.start_tls(ssl_context, server_hostname, timeout)
        return _TimedStream(stream, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _CheckedNetwork(httpcore.NetworkBackend):
    """Connects to the very addresses that it has checked.

    httpcore asks it for a connection to a name, and keeps to the name for TLS and the Host header.
    """

    def __init__(self, deadline: _Deadline, *, allow_private: bool) -> None:
        self._deadline = deadline
        self._allow_private = allow_private
        self._network = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        failure: Exception = httpcore.ConnectError(f"{host} has no address")
        for address in self._checked_addresses(host, port):
            try:
                stream = self._network.connect_tcp(
                    address, port, self._deadline.cut(timeout), local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
            else:
                return _TimedStream(stream, self._deadline)
        raise failure

    def _checked_addresses(self, host: str, port: int) -> list[str]:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise httpcore.ConnectError(f"the name {host} can't be resolved: {error}") from error
        addresses = [str(info[4][0]) for info in found]
        # One bad address among good ones is no accident either: the whole name is refused.
        for address in addresses:
            if kind := refusal_of(address, allow_private=self._allow_private):
                raise _Refused(
                    f"{host} resolves to the {kind} address {address}, which is never fetched from"
                    + ("" if self._allow_private else " unless allow_private_hosts permits it")
                )
        return addresses


@dataclass(slots=True)
class _Reply:
    """What one request brought. `again` says that another try may end better."""

    url: httpx.URL
    status: int = 0
    headers: httpx.Headers = field(default_factory=httpx.Headers)
    body: bytes = b""
    problem: str | None = None
    again: bool = False


class _Gunzip:
    """Decompresses gzip as it comes: one member after the other, of which by RFC 1952 there can be many."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(wbits=31)

    @property
    def is_whole(self) -> bool:
        """Whether the last member has ended."""
        return self._member.eof

    def decompress(self, received: bytes, most: int) -> bytes:
        """What these bytes hold, up to `most` bytes of it. Raises zlib.error where they are no gzip."""
        body = bytearray()
        while received and len(body) < most:
            if self._member.eof:
                self._member = zlib.decompressobj(wbits=31)
            body += self._member.decompress(received, most - len(body))
            received = self._member.unused_data
        return bytes(body)


class Client:
    """Gets pages of one API, one request at a time, whoever asks.

    It keeps no cookies and reads no netrc and no proxies from the environment: httpcore, which it
    uses without httpx's client on top, knows none of these.
    """

    def __init__(
        self,
        *,
        base_url: str,
        allowed_hosts: frozenset[str],
        max_requests: int,
        allow_private_hosts: bool = False,
        request_interval_s: float = 1.0,
        contact: str = CONTACT,
        limits: Limits = DEFAULT_LIMITS,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Settings, none of which is read from elsewhere.

        `allowed_hosts` are lower-case names, the base URL's among them; `max_requests` counts all
        requests of the run, retries and redirects too. `allow_private_hosts` permits plain HTTP,
        and loopback and private addresses. Raises ValueError if `base_url` itself may not be
        fetched from.
        """
        self.requests_made = 0
        self.base_url = base_url.rstrip("/")
        self._allowed_hosts = allowed_hosts
        self._allow_private_hosts = allow_private_hosts
        self._max_requests = max_requests
        self._request_interval_s = request_interval_s
        self._user_agent = f"kernelindex-pipeline/{_version()} ({contact})"
        self._limits = limits
        self._sleep = sleep
        self._one_at_a_time = threading.Lock()
        self._quiet_until: dict[str, float] = {}
        self._wire_s = 0.0
        try:
            base = httpx.URL(self.base_url)
            self._base_port = base.port
            self._check(base)
        except (_Refused, httpx.InvalidURL) as error:
            raise ValueError(f"base_url can't be used: {error}") from None
        self._deadline = _Deadline()
        self._pool = httpcore.ConnectionPool(
            ssl_context=httpx.create_ssl_context(trust_env=False),
            network_backend=_CheckedNetwork(self._deadline, allow_private=allow_private_hosts),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._pool.close()

    def get(
        self,
        locator: str,
        *,
        etag: str | None = None,
        last_modified: str | None = None,
    ) -> Answer:
        """Ask for a page until it comes, or until asking again is of no use.

        `locator` is the path below the API's base, with its query, percent-encoded, as
        `/submissions?kernel_id=1`. With `etag` or `last_modified` as an earlier answer had them, an
        unchanged page is a 304. A page that fails is an Answer with a problem, not an exception.
        Raises RequestBudgetExhausted where the run has no request left, and ValueError for a
        locator that makes no URL.
        """
        try:
            url = httpx.URL(self.base_url + locator)
        except httpx.InvalidURL as error:
            raise ValueError(f"the locator {locator!r} makes no URL: {error}") from None
        if not locator.startswith("/"):
            raise ValueError(f"the locator {locator!r} has to begin with a slash")
        conditions = {"If-None-Match": etag, "If-Modified-Since": last_modified}
        headers = {name: value for name, value in conditions.items() if value}
        with self._one_at_a_time:
            wire_s = self._wire_s
            for tries in range(1, self._limits.tries + 1):
                try:
                    reply = self._follow(url, headers)
                except RequestBudgetExhausted:
                    if tries == 1:
                        raise
                    # What came before is an answer all the same; who asks next is told.
                    tries -= 1
                    break
                if not reply.again:
                    break
                wait_s = self._back_off(reply, tries)
                if wait_s > self._limits.wait_s:
                    reply.problem = f"{reply.problem}, which asks for a wait of {wait_s:.0f} s"
                    break
            return _answer(locator, reply, tries, self._wire_s - wire_s)

    def asked_before(self, at: datetime) -> None:
        """Keep the pause to a request that an earlier run made, which ended at this time."""
        passed_s = (datetime.now(UTC) - at).total_seconds()
        self._keep_quiet(httpx.URL(self.base_url).host, self._request_interval_s - max(0.0, passed_s))

    def _follow(self, url: httpx.URL, headers: dict[str, str]) -> _Reply:
        """Ask for the page and go where redirects lead, each place checked like the first."""
        for _ in range(self._limits.redirects + 1):
            reply = self._ask(url, headers)
            if reply.problem or reply.status not in _REDIRECTS:
                return reply
            try:
                url = url.join(reply.headers["location"])
            except (KeyError, ValueError, httpx.InvalidURL):
                reply.problem = "the server redirects to nothing that is a URL"
                return reply
        reply.problem = f"the server redirects more than {self._limits.redirects} times"
        return reply

    def _ask(self, url: httpx.URL, headers: dict[str, str]) -> _Reply:
        """Make one request, if it may be made, and judge what it brings."""
        reply = _Reply(url)
        try:
            self._check(url)
            self._wait_for_turn(url)
            self._exchange(reply, headers)
            _judge(reply, conditional=bool(headers))
        except _Refused as refused:
            reply.problem = str(refused)
        except httpcore.TimeoutException:
            reply.problem, reply.again = "no whole answer came in time", True
        except (httpcore.NetworkError, httpcore.ProtocolError) as error:
            reply.problem, reply.again = f"the connection failed ({error})", True
        except zlib.error as error:
            reply.problem, reply.again = f"the body can't be decompressed ({error})", True
        return reply

    def _check(self, url: httpx.URL) -> None:
        """Raise _Refused if this URL may not be asked for, whatever address its host has."""
        if url.scheme != "https" and not (url.scheme == "http" and self._allow_private_hosts):
            raise _Refused(f"{url.scheme or 'no scheme'} is refused: only HTTPS is used")
        if url.userinfo:
            raise _Refused(f"a URL of {url.host!r} with a user name in it is refused")
        if url.host not in self._allowed_hosts:
            raise _Refused(f"the host {url.host!r} is refused, since allowed_hosts lacks it")
        if url.port not in (None, self._base_port):
            raise _Refused(f"port {url.port} of {url.host} is refused: base_url has another")

    def _wait_for_turn(self, url: httpx.URL) -> None:
        """Sleep until the host may be asked again, and take one request from the run's budget."""
        if self.requests_made >= self._max_requests:
            raise RequestBudgetExhausted(
                f"{url.raw_path.decode()}: the run has made all its {self._max_requests} requests; "
                "run again to go on, or raise max_requests"
            )
        wait_s = self._quiet_until.get(url.host, 0.0) - time.monotonic()
        if wait_s > self._limits.wait_s:
            raise _Refused(f"{url.host} asked for {wait_s:.0f} s without requests; run again later")
        if wait_s > 0:
            self._sleep(wait_s)
        self.requests_made += 1

    def _exchange(self, reply: _Reply, headers: dict[str, str]) -> None:
        """Send a request and put its answer into the reply, as far as it comes."""
        url = reply.url
        began = time.monotonic()
        self._deadline.at = began + self._limits.request_s
        # As bytes: httpcore takes text of ASCII only, and an ETag may be anything.
        sent = httpx.Headers(
            {
                "Host": url.netloc.decode(),
                "User-Agent": self._user_agent,
                "Accept": "application/json",
                "Accept-Encoding": "gzip",
                # On a connection that is kept, bytes after one answer's end pass for the next.
                "Connection": "close",
                **headers,
            },
            encoding="utf-8",
        ).raw
        target = httpcore.URL(
            scheme=url.raw_scheme,
            host=url.raw_host,
            port=url.port,
            target=url.raw_path,
        )
        timeouts = dict.fromkeys(("connect", "read", "write"), self._limits.read_s)
        options = {"timeout": timeouts}
        try:
            with self._pool.stream("GET", target, headers=sent, extensions=options) as response:
                reply.status = response.status
                reply.headers = httpx.Headers(response.headers)
                if response.status not in (304, *_REDIRECTS):
                    reply.body = self._read_body(response, reply.headers.get("content-encoding"))
        finally:
            self._wire_s += time.monotonic() - began
            self._keep_quiet(url.host, self._request_interval_s)

    def _read_body(self, response: httpcore.Response, encoding: str | None) -> bytes:
        """The body, decompressed as it comes: never more than one byte over the cap is held."""
        encoding = (encoding or "identity").strip().lower()
        # By RFC 9110, x-gzip is another name for gzip.
        if encoding not in ("identity", "gzip", "x-gzip"):
            raise _Refused(f"the body is encoded as {encoding!r}, which was not asked for")
        gunzip = None if encoding == "identity" else _Gunzip()
        cap, body, received = self._limits.body_bytes, bytearray(), 0
        for chunk in response.iter_stream():
            received += len(chunk)
            body += gunzip.decompress(chunk, cap - len(body) + 1) if gunzip else chunk
            # What was received counts too: gzip can hold any number of bytes that come to nothing.
            if max(received, len(body)) > cap:
                raise _Refused(f"the body is larger than {cap} bytes, the most that is taken")
        if gunzip and received and not gunzip.is_whole:
            raise zlib.error("it ends too early")
        return bytes(body)

    def _back_off(self, reply: _Reply, tries: int) -> float:
        """Keep the host quiet after a failed try; the seconds for which."""
        wait_s: float = self._limits.first_backoff_s * 2 ** (tries - 1) * random.uniform(0.5, 1)
        asked_s = retry_after_s(reply.headers.get("retry-after"), datetime.now(UTC))
        wait_s = max(asked_s, min(wait_s, self._limits.wait_s))
        self._keep_quiet(reply.url.host, wait_s)
        return wait_s

    def _keep_quiet(self, host: str, seconds: float) -> None:
        until = time.monotonic() + seconds
        self._quiet_until[host] = max(until, self._quiet_until.get(host, until))


def _judge(reply: _Reply, *, conditional: bool) -> None:
    """Say in the reply what is wrong with an answer that came whole."""
    media_type = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
    if reply.status in _REDIRECTS or (reply.status == 304 and conditional):
        return
    if reply.status != 200:
        reply.problem = f"the server answers with status {reply.status}"
        reply.again = reply.status in (408, 429) or reply.status >= 500
    elif media_type != "application/json" and not media_type.endswith("+json"):
        reply.problem = (
            f"the body is {repr(media_type) if media_type else 'of no media type'} where JSON was asked for"
        )
    elif not reply.body:
        reply.problem = "the body is empty"


def _answer(locator: str, reply: _Reply, tries: int, duration_s: float) -> Answer:
    """The answer that the last reply makes."""
    fetched_at = datetime.now(UTC)
    # Written from its parts: a user name and password in it would end up in the warehouse.
    url = f"{reply.url.scheme}://{reply.url.netloc.decode()}{reply.url.raw_path.decode()}"
    names = ("etag", "last-modified", "content-type")
    etag, last_modified, media_type = (reply.headers.get(name) for name in names)
    page = None
    if reply.body:
        got = (locator, reply.body, fetched_at, url, reply.status)
        page = Page(*got, media_type, etag, last_modified)
    problem = reply.problem and f"{locator}: {reply.problem}"
    if reply.again:
        problem = f"{problem} (tries: {tries}); run again later"
    return Answer(
        page=page,
        locator=locator,
        resolved_locator=url,
        status=reply.status,
        tries=tries,
        size_bytes=len(reply.body),
        duration_s=duration_s,
        fetched_at=fetched_at,
        etag=etag,
        last_modified=last_modified,
        media_type=media_type,
        problem=problem,
    )


def _version() -> str:
    try:
        return version("kernelindex-pipeline")
    except PackageNotFoundError:
        return "dev"
