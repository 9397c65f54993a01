"""Identity: canonical JSON, digests, and manifests named by them.

A manifest's digest is that of its apiVersion, kind and spec; its metadata never counts (DESIGN §4).
What stands in a spec belongs in `kinds` and `normalise`.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson
import rfc8785

from assets.leaderboard.snapshots import digest_of

API_VERSION = "kernelindex.dev/v1alpha1"

# Numbers that orjson and RFC 8785 may write differently: one with an exponent, a whole one with a fraction,
# one with more digits than a double holds; and null, which may have been a NaN. What looks like these
# within a string only costs the slow way.
_DOUBTFUL = re.compile(rb"[:,\[](?:-?\d++(?:(?:\.\d++)?e[-+]?\d++|\.0|(?<=\d{16}))[,}\]]|null)")

# Keys are sorted by UTF-16 units there and by UTF-8 bytes here, which is the same up to U+FFFF.
_ASTRAL = re.compile(rb"[\xf0-\xf4]")


class NotCanonical(ValueError):
    """A value that has no canonical JSON: NaN, an infinity, an integer beyond 2**53 - 1, ..."""


def canonical_json(value: Any) -> bytes:
    """The value as RFC 8785 writes it, UTF-8.

    orjson writes most values the same way, and far faster; whatever it may write differently goes to
    rfc8785.

    Raises NotCanonical where RFC 8785 knows no form for the value.
    """
    try:
        fast = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        fast = b"null"
    plain = fast.isascii() or not _ASTRAL.search(fast)
    if plain and fast[:1] in b"{[" and not _DOUBTFUL.search(fast):
        return fast
    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeError, RecursionError) as error:
        raise NotCanonical(f"can't be written as canonical JSON: {error}") from error


def key_of(value: Any) -> str:
    """Digest of a value's canonical JSON, as comparison and correctness keys are made."""
    return digest_of(canonical_json(value))


class Manifest(NamedTuple):
    """A manifest: its digest, and the whole of it as canonical JSON."""

    digest: str
    json: str


def name_manifest(kind: str, metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> Manifest:
    """Name the object that these make by its digest.

    The canonical text is put together from its parts, which are sorted by name already: so a spec is
    written once for both the digest and the manifest.
    """
    head = f'{{"apiVersion":"{API_VERSION}","kind":"{kind}",'.encode()
    tail = b'"spec":' + canonical_json(spec) + b"}"
    whole = head + b'"metadata":' + canonical_json(metadata) + b"," + tail
    return Manifest(digest_of(head + tail), whole.decode())
