"""Pages as they come from a source, and the store that keeps the bytes of every one, by digest.

What a page says belongs in `records`; getting pages, in `sources` and `client`.
"""

import hashlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pyarrow as pa

from warehouse.files import directory_aside, move_into_place

# Kept, since to start them takes as long as to write some pages.
_WRITERS = ThreadPoolExecutor(8)


def digest_of(data: bytes) -> str:
    """`sha256:` and 64 hex digits, over the bytes as they are."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def file_digest(path: Path) -> str:
    """`digest_of` the bytes of a file, which is not held in memory."""
    with path.open("rb") as file:
        return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True, slots=True)
class Page:
    """One answer of the source: its bytes, and where, when and how they were got.

    `locator` is the API's path and query, the same from whatever source the bytes came;
    `resolved_locator` is where they came from in the end. `fetched_at` is UTC.
    """

    locator: str
    body: bytes
    fetched_at: datetime
    resolved_locator: str
    status: int = 200
    media_type: str | None = "application/json"
    etag: str | None = None
    last_modified: str | None = None

    @property
    def page_digest(self) -> str:
        """Digest of the body."""
        return digest_of(self.body)


class SnapshotError(Exception):
    """A snapshot is missing, or its bytes are not those that its digest names."""


class Snapshots:
    """A directory of page bodies, compressed with zstd, each named by the digest of its bytes."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def path(self, page_digest: str) -> Path:
        """Where the snapshot of this digest is, or would be."""
        hex_digits = page_digest.removeprefix("sha256:")
        return self.directory / hex_digits[:2] / f"{hex_digits}.zst"

    def put(self, body: bytes) -> str:
        """Keep the bytes and return their digest. They are kept once; a damaged snapshot is mended."""
        return self.put_all([body])[0]

    def put_all(self, bodies: Iterable[bytes]) -> list[str]:
        """`put` many, several at a time: what takes long is waiting until the disk has them."""
        with directory_aside(self.directory / "pages") as aside:
            puts = [_WRITERS.submit(self._put, aside, body, number) for number, body in enumerate(bodies)]
            wait(puts)  # Also where one fails: none writes to what is taken away then.
            return [put.result() for put in puts]

    def _put(self, aside: Path, body: bytes, number: int) -> str:
        page_digest = digest_of(body)
        if not self.holds(page_digest):
            path, written = self.path(page_digest), aside / str(number)
            path.parent.mkdir(exist_ok=True)
            with pa.CompressedOutputStream(str(written), "zstd") as out:
                out.write(body)
            move_into_place(written, path)
        return page_digest

    def holds(self, page_digest: str) -> bool:
        """Whether the bytes of this digest are there, and whole."""
        try:
            self.get(page_digest)
        except SnapshotError:
            return False
        return True

    def get(self, page_digest: str) -> bytes:
        """The bytes of this digest.

        Raises SnapshotError where they are missing, cannot be decompressed or are not the same.
        """
        path = self.path(page_digest)
        try:
            with pa.CompressedInputStream(str(path), "zstd") as stream:
                body: bytes = stream.read()
        except (OSError, pa.ArrowException) as error:
            raise SnapshotError(
                f"snapshot {page_digest} can't be read ({error}); fetch its page again"
            ) from error
        if digest_of(body) != page_digest:
            raise SnapshotError(
                f"snapshot {page_digest} holds other bytes than it was kept with; "
                f"delete {path} and fetch its page again"
            )
        return body

    def __iter__(self) -> Iterator[str]:
        """The digests of all snapshots."""
        for path in sorted(self.directory.glob("??/*.zst")):
            yield f"sha256:{path.stem}"
