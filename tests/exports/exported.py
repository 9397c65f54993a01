"""What the tests of exports share: a home with hostile names, and what reads an export back."""

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from assets.leaderboard.sources import DirectorySource
from assets.manifests.identity import key_of
from tests.examples import RMSNORM, ingest, recorded, save
from warehouse.build import build_warehouse
from warehouse.home import Home

HOSTILE_NAMES = [
    "=cmd|' /C calc'!A1",
    "+1-555",
    "-2+3",
    "@SUM(A1:A9)",
    "'=quoted",
    'say "hi", \\ and;\ttabs',
    "two\r\nlines",
    "<script>alert(1)</script> | [bold]",
    "../../etc/passwd",
    "\x1b[31mred 🦀 ＝fullwidth",
]


def home_of(names: list[str], directory: Path) -> Home:
    """A home whose warehouse has a submission of each name, on one kernel."""
    kernel = recorded(RMSNORM)
    first = kernel.submissions[0]
    kernel.submissions = [
        {**first, "id": 900_000 + number, "username": name} for number, name in enumerate(names)
    ]
    home = Home(directory / "home")
    ingest(DirectorySource(save(directory / "answers", kernel)), home)
    build_warehouse(home)
    return home


def digest_of_manifest(manifest: dict[str, Any]) -> str:
    """The digest, made again: of all but the metadata."""
    return key_of({name: manifest[name] for name in ("apiVersion", "kind", "spec")})


def csv_cells(path: Path) -> list[dict[str, str]]:
    """A CSV file's cells, as they stand there."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def unmarked(cell: str) -> str:
    """The text that a cell of CSV means, by the rule that docs/exports.md gives."""
    return cell[1:] if cell.startswith("'") else cell


def catalog_lines(directory: Path) -> list[dict[str, Any]]:
    (path,) = directory.glob("catalog-*.jsonl.zst")
    with pa.input_stream(str(path), compression="zstd") as file:
        return [json.loads(line) for line in file.read().decode().splitlines()]
