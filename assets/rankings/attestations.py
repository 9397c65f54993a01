"""Attestations: what people say of a run, in `attestations/*.yaml` beside this module.

Notes and replications come from the community; they are shown and counted. A controlled rerun, one that
KernelIndex itself ran or watched, is another kind of entry, and the only one that evidence follows from: how,
is said in `evidence.sql`. Whose word a file may hold is for those who review it to say.
"""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

import duckdb
import pyarrow as pa
from pydantic import Field, TypeAdapter

from assets.rankings.entries import Entry, EntryError, Link, Place, SetAside, Text, read_entries
from assets.rankings.run_names import NamedRun, UnknownRun, find_run
from warehouse.parquet import table_of
from warehouse.tables import ATTESTATIONS

ATTESTATIONS_DIRECTORY = Path(__file__).with_name("attestations")


class Note(Entry):
    """Something worth knowing of a run."""

    kind: Literal["note"]
    text: Text
    link: Link | None = None


class Rerun(Entry):
    """A run measured again: by the community, or under KernelIndex's control."""

    kind: Literal["replication", "controlled_rerun"]
    confirms: bool
    link: Link
    text: Text | None = None
    latency_ms: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None


Attestation = Annotated[Note | Rerun, Field(discriminator="kind")]
_ATTESTATION: TypeAdapter[Note | Rerun] = TypeAdapter(Attestation)


def read_attestations(
    directory: Path = ATTESTATIONS_DIRECTORY, now: datetime | None = None
) -> tuple[dict[Place, Attestation], SetAside]:
    """The attestations of all files of a directory, and those that are wrong in themselves.

    A file that can't be read is set aside as a whole.
    """
    attestations: dict[Place, Attestation] = {}
    set_aside: SetAside = {
        Place(path.name, 0, ""): "it is not read: attestations are in files that end in .yaml"
        for path in directory.glob("*.yml")
    }
    for path in sorted(directory.glob("*.yaml")):
        try:
            entries, wrong = read_entries(path, _ATTESTATION, now)
        except EntryError as problem:
            set_aside[Place(path.name, 0, "")] = str(problem)
            continue
        attestations |= entries
        set_aside |= wrong
    return attestations, set_aside


def resolve_attestations(
    connection: duckdb.DuckDBPyConnection, attestations: Mapping[Place, Attestation]
) -> tuple[pa.Table, SetAside]:
    """The table `attestations`, each with the run that it is about; and those whose run there is not.

    The connection has the relations `runs` and `source_submissions`.
    """
    rows = []
    set_aside: SetAside = {}
    for place, attestation in attestations.items():
        try:
            run = find_run(connection, attestation.run)
        except UnknownRun as problem:
            set_aside[place] = str(problem)
            continue
        said = attestation.model_dump(exclude={"run", "date"})
        where = {"file": place.file, "entry": place.entry, "external_id": run.external_id}
        digest = run.run_digest if isinstance(run, NamedRun) else None
        rows.append({**where, "run_digest": digest, "attested_at": attestation.date, **said})
    return table_of(rows, ATTESTATIONS.schema), set_aside
