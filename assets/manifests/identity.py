"""Identity: canonical JSON, digests, and manifests named by them.

A manifest's digest is that of its apiVersion, kind and spec; its metadata never counts (DESIGN §4).
What stands in a spec belongs in `kinds` and `normalise`.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson
import rfc8785

from assets.leaderboard.snapshots import digest_of

API_VERSION = "kernelindex.dev/v1alpha1"

_WHOLE_FLOAT = re.compile(rb"\.0[,}\]]")
# Keys are sorted by UTF-16 units in RFC 8785 and by UTF-8 bytes in orjson: the same up to U+FFFF.
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
        text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER)
        if not _doubtful(text):
            return text
    except TypeError:
        pass
    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeError, RecursionError) as error:
        raise NotCanonical(f"can't be written as canonical JSON: {error}") from error


def _doubtful(text: bytes) -> bool:
    """Whether orjson's text may differ from RFC 8785's; where a string looks so, that only costs time."""
    return (
        # A whole number that was a float, one with an exponent, a null that may have been a NaN,
        (b".0" in text and _WHOLE_FLOAT.search(text) is not None)
        or b"e+" in text
        or b"e-" in text
        or b"null" in text
        # a number that is no part of anything, names that may be in another order.
        or text[0] not in b"{["
        or (not text.isascii() and _ASTRAL.search(text) is not None)
    )


def key_of(value: Any) -> str:
    """Digest of a value's canonical JSON, as comparison and correctness keys are made."""
    return digest_of(canonical_json(value))


class Manifest(NamedTuple):
    """A manifest: its digest, and the whole of it as canonical JSON."""

    digest: str
    json: str


def name_manifest(kind: str, metadata: Mapping[str, Any], spec: bytes) -> Manifest:
    """Name the object that these make by its digest; `spec` is canonical JSON already.

    The whole is put together from its parts, which are in order of their names: so a spec is written once
    for both the digest and the manifest.
    """
    head = f'{{"apiVersion":"{API_VERSION}","kind":"{kind}",'.encode()
    tail = b'"spec":' + spec + b"}"
    # Metadata is text alone, under ASCII names: orjson writes that as RFC 8785 does.
    whole = head + b'"metadata":' + orjson.dumps(metadata, option=orjson.OPT_SORT_KEYS) + b"," + tail
    return Manifest(digest_of(head + tail), whole.decode())


class Pattern:
    """Specs of one kind that differ in a few places only: the rest is written once, and those are filled in.

    What fills a place never changes the order of names, so that a filled pattern is the canonical JSON of the
    filled spec.
    """

    def __init__(self, kind: str, spec: Mapping[str, Any], examples: Sequence[Any]) -> None:
        """`examples` are the values that stand in the places now, in the order of the canonical JSON.

        Raises ValueError where an example does not stand there exactly once, in that order.
        """
        self.kind = kind
        self._parts = []
        rest = canonical_json(spec)
        for example in examples:
            part, rest = rest.split(canonical_json(example))
            self._parts.append(part)
        self._end = rest

    def fill(self, metadata: Mapping[str, Any], *values: bytes) -> Manifest:
        """The manifest with these values, canonical JSON each, in the places."""
        pieces = [piece for pair in zip(self._parts, values, strict=True) for piece in pair]
        return name_manifest(self.kind, metadata, b"".join(pieces) + self._end)
