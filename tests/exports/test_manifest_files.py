"""Manifests as JSON and YAML files: the digest can be made again of each."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import warehouse
from tests.exports.exported import HOSTILE_NAMES, digest_of_manifest, home_of
from warehouse.exports import export
from warehouse.exports.manifests import as_yaml, file_name
from warehouse.home import Home
from warehouse.tables import DIGESTS

SOME = ["projects", "implementations", "protocols", "environments", "runs"]


def manifests_of(home: Home, tables: list[str]) -> dict[str, str]:
    """All manifests of the tables, by digest."""
    with warehouse.connect(home.directory) as connection:
        return {
            digest: manifest
            for table in tables
            for digest, manifest in connection.execute(
                f"select {DIGESTS[table]}, manifest::varchar from {table}"
            ).fetchall()
        }


def test_json_files_are_the_canonical_json_that_the_digests_name(
    published_home: Home, tmp_path: Path
) -> None:
    export(tmp_path / "json", "json", home=published_home.directory)
    files = [path.read_text("utf-8") for path in (tmp_path / "json").glob("*/*.json")]
    assert sorted(files) == sorted(manifests_of(published_home, list(DIGESTS)).values())
    for path in (tmp_path / "json").glob("*/*.json"):
        manifest = json.loads(path.read_text("utf-8"))
        assert path.parent.name == manifest["kind"]
        assert path.stem == file_name(manifest, digest_of_manifest(manifest))


def test_yaml_files_make_the_same_digests(published_home: Home, tmp_path: Path) -> None:
    written = export(tmp_path / "yaml", "yaml", SOME, published_home.directory)
    assert set(written) == {
        "SoftwareProject",
        "ImplementationRevision",
        "BenchmarkProtocol",
        "ExecutionEnvironment",
        "BenchmarkRun",
    }
    read = [
        yaml.load(path.read_text("utf-8"), yaml.CSafeLoader) for path in (tmp_path / "yaml").glob("*/*.yaml")
    ]
    there = manifests_of(published_home, SOME)
    assert {digest_of_manifest(manifest): manifest for manifest in read} == {
        digest: json.loads(manifest) for digest, manifest in there.items()
    }


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda values: st.lists(values) | st.dictionaries(st.text(), values),
    max_leaves=8,
)


@settings(max_examples=80)
@given(st.dictionaries(st.text(), VALUES))
def test_any_values_survive_yaml(manifest: dict[str, Any]) -> None:
    assert yaml.safe_load(as_yaml(manifest)) == manifest


@pytest.mark.parametrize(
    "text", ["4e1234567890", "12", "0o17", "0x1f", "+1e3", ".5e1", "n", "Y", "no", "null", "2026-01-01"]
)
def test_text_that_looks_like_something_else_is_quoted_in_yaml(text: str) -> None:
    assert as_yaml({text: text}).strip() in (f'"{text}": "{text}"', f"'{text}': '{text}'")


def test_no_name_leads_out_of_the_directory(tmp_path: Path) -> None:
    home = home_of(HOSTILE_NAMES, tmp_path)
    export(tmp_path / "yaml", "yaml", ["projects"], home.directory)
    paths = sorted((tmp_path / "yaml/SoftwareProject").iterdir())
    names = [yaml.safe_load(path.read_text("utf-8"))["spec"]["name"] for path in paths]
    assert sorted(names) == sorted(HOSTILE_NAMES)
    assert all(path.name.isascii() and path.stem.replace("-", "").isalnum() for path in paths)


@settings(max_examples=40)
@given(st.text())
def test_any_metadata_name_makes_a_safe_file_name(name: str) -> None:
    made = file_name({"metadata": {"name": name}}, "sha256:0123456789abcdef")
    assert made.endswith("-0123456789ab")
    assert made.isascii()
    assert made.replace("-", "").isalnum()
    assert len(made) <= 113
