"""Manifests as files: a directory a kind, a file a manifest, as JSON or YAML.

A JSON file holds the manifest's canonical JSON, byte for byte as the warehouse does. A YAML file holds the
same values, under the same names, in the same order. The digest can be made again of either.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import yaml

from warehouse.exports.rows import batches_of
from warehouse.tables import DIGESTS


def write_manifests(
    connection: duckdb.DuckDBPyConnection, directory: Path, form: str, tables: Sequence[str]
) -> dict[str, int]:
    """Write each manifest of the tables as `<kind>/<name>-<digest>.<form>`; return how many, by kind."""
    written: dict[str, int] = {}
    for table in tables:
        query = f"select {DIGESTS[table]} as digest, manifest::varchar as manifest from {table}"
        for batch in batches_of(connection, query):
            for row in batch.to_pylist():
                manifest = json.loads(row["manifest"])
                kind = directory / manifest["kind"]
                kind.mkdir(exist_ok=True)
                text = row["manifest"] if form == "json" else as_yaml(manifest)
                path = kind / f"{file_name(manifest, row['digest'])}.{form}"
                with path.open("x", encoding="utf-8", newline="\n") as file:
                    file.write(text)
                written[kind.name] = written.get(kind.name, 0) + 1
    return written


def file_name(manifest: dict[str, Any], digest: str) -> str:
    """A name for people that any file system takes; the digest's digits tell those of one name apart."""
    name = re.sub(r"[^a-z0-9]+", "-", manifest["metadata"]["name"].lower())[:100].strip("-")
    return f"{name or 'unnamed'}-{digest.removeprefix('sha256:')[:12]}"


def as_yaml(manifest: dict[str, Any]) -> str:
    """A manifest as YAML that readers of YAML 1.1 and of 1.2 understand in the same way."""
    text: str = yaml.dump(manifest, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=2**31 - 1)
    return text


class _Dumper(yaml.CSafeDumper):
    """Quotes text that only some readers take for text: 12e45 is a number in YAML 1.2, and n false in 1.1."""


def _represent_text(dumper: yaml.CSafeDumper, text: str) -> yaml.Node:
    style = '"' if text[:1] in tuple("0123456789+-.") or text in tuple("yYnN") else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style)


_Dumper.add_representer(str, _represent_text)
