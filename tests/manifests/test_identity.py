"""Canonical JSON and digests, with the rfc8785 package as the judge."""

import hashlib
import json
import math
from collections.abc import Callable
from typing import Any

import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from assets.manifests.identity import Manifest, NotCanonical, canonical_json, key_of, name_manifest

# Where writers of numbers like to differ: exponents, whole numbers, the ends of what a double can hold.
AWKWARD_NUMBERS = [
    *(sign * 10.0**power for power in range(15, 23) for sign in (1, -1)),
    *(10.0**-power for power in range(4, 9)),
    *(float(2**53 + step) for step in (-1, 0, 1, 2)),
    *(2**53 - step for step in (1, 2)),
    *(-0.0, 0.0, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308),
    *(1e16 + 2, 123456789012345680.0, 9007199254740993.5, 4503599627370497.5),
    *(0.1 + 0.2, 1 / 3, 333333333.33333329),
]  # fmt: skip
NOT_CANONICAL = [math.nan, math.inf, -math.inf, 2**53, -(2**53), 2**64, "\ud800", b"bytes", {1}, 1j]

any_text = st.text(st.characters(exclude_categories=[])) | st.sampled_from(["\ud800", "\ue000", "😀", "�"])
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(AWKWARD_NUMBERS) | any_text
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=12,
)
readable_text = st.text(max_size=20)
names = st.text(st.characters(codec="ascii"), max_size=10)


def named(kind: str, metadata: dict[str, str], spec: dict[str, Any]) -> Manifest:
    return name_manifest(kind, metadata, canonical_json(spec))


def written(write: Callable[[Any], bytes], value: Any) -> bytes | None:
    """What is written; None where the value is refused."""
    try:
        return write(value)
    except (NotCanonical, rfc8785.CanonicalizationError, UnicodeError):
        return None


@given(values)
def test_it_is_what_rfc_8785_says_of_any_value(value: Any) -> None:
    assert written(canonical_json, value) == written(rfc8785.dumps, value)


@pytest.mark.parametrize("number", AWKWARD_NUMBERS)
@pytest.mark.parametrize("around", [lambda x: x, lambda x: [x, x], lambda x: {"a": x, "b": [x]}])
def test_awkward_numbers_are_written_as_ecmascript_writes_them(
    number: float, around: Callable[[Any], Any]
) -> None:
    assert canonical_json(around(number)) == rfc8785.dumps(around(number))


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(0.000001)
@example(1e21)
def test_floats_are_what_rfc_8785_says(number: float) -> None:
    assert canonical_json({"latency_ms": number}) == rfc8785.dumps({"latency_ms": number})


def test_keys_are_sorted_by_utf_16_units() -> None:
    assert canonical_json({"\ufb33": 1, "😀": 2, "a": 3}) == '{"a":3,"😀":2,"\ufb33":1}'.encode()


@pytest.mark.parametrize("value", NOT_CANONICAL, ids=repr)
def test_what_has_no_canonical_form_is_refused(value: Any) -> None:
    for holder in (value, [value], {"latency_ms": value}):
        with pytest.raises(NotCanonical):
            canonical_json(holder)


@pytest.mark.parametrize("key", [1, None, 0.5, True, ("a",)])
def test_names_that_are_no_text_are_refused(key: Any) -> None:
    with pytest.raises(NotCanonical):
        canonical_json({key: 1})


def test_a_null_is_kept() -> None:
    assert canonical_json({"a": None, "b": [None]}) == b'{"a":null,"b":[null]}'


def test_a_key_is_the_digest_of_canonical_json() -> None:
    assert key_of({"b": 1, "a": 2.0}) == "sha256:" + hashlib.sha256(b'{"a":2,"b":1}').hexdigest()


@given(st.dictionaries(names, readable_text), st.dictionaries(readable_text, readable_text))
def test_metadata_never_changes_a_digest(metadata: dict[str, str], spec: dict[str, str]) -> None:
    plain = named("BenchmarkRun", {}, spec)
    assert named("BenchmarkRun", metadata, spec).digest == plain.digest


@given(st.dictionaries(names, readable_text), st.dictionaries(readable_text, st.integers(0, 9)))
def test_a_manifest_is_canonical_json_named_by_its_meaning(
    metadata: dict[str, str], spec: dict[str, int]
) -> None:
    manifest = named("BenchmarkRun", metadata, spec)
    meaning: dict[str, Any] = {"apiVersion": "kernelindex.dev/v1alpha1", "kind": "BenchmarkRun", "spec": spec}
    assert manifest.json.encode() == rfc8785.dumps({**meaning, "metadata": metadata})
    assert manifest.digest == "sha256:" + hashlib.sha256(rfc8785.dumps(meaning)).hexdigest()
    assert json.loads(manifest.json)["metadata"] == metadata


@given(readable_text, readable_text)
def test_another_spec_or_kind_is_another_digest(one: str, other: str) -> None:
    digest = named("BenchmarkRun", {}, {"status": one}).digest
    assert (named("BenchmarkRun", {}, {"status": other}).digest == digest) == (one == other)
    assert named("BenchmarkProtocol", {}, {"status": one}).digest != digest
