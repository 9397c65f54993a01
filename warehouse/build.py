"""The DuckDB build: from Parquet tables to `warehouse.duckdb`, aside and then into place.

The file holds its tables (no path leads out of it), the views for people, which are in `views*.sql`, comments
on each table, view and column, and in `warehouse_version` what it was built from.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import duckdb

from warehouse.files import written_aside
from warehouse.home import VERSION, Home
from warehouse.parquet import file_of, row_count
from warehouse.tables import TABLES, Table
from warehouse.view_columns import MEANINGS

VIEWS = Path(__file__).with_name("views.sql")
CASE_VIEWS = Path(__file__).with_name("views_cases.sql")
SOURCE_VIEWS = Path(__file__).with_name("views_source.sql")
DOSSIER_VIEW = Path(__file__).with_name("views_dossier.sql")

# People open the file with what they have: DuckDB 1.3 and newer can. An older format would take more room.
STORAGE_VERSION = "v1.3.0"
# Of which DuckDB would take more, the more there is, and be no faster for it.
MEMORY_LIMIT = "1GB"

CHECKING = (
    "pipelines/checks.py",
    "assets/rankings/policy.py",
    *(f"assets/manifests/{name}.py" for name in ("identity", "normalise", "history")),
    "assets/leaderboard/records.py",
)


# The tables by which it shows that data has gone: what a source has, and what became of it.
COUNTED = ("source_kernels", "source_submissions", "runs")


class BuildError(Exception):
    """A warehouse that must not be published; says what is wrong with which table."""


def build_warehouse(home: Home) -> bool:
    """Build the warehouse from all Parquet tables and move it into place; False where it is there, and whole.

    Readers that have the old file open keep it. Raises BuildError where a table is missing or breaks its key:
    the old warehouse then stays.
    """
    digests = table_digests(home)
    version = _version(digests)
    if version == warehouse_version(home) and not damage_to_warehouse(home):
        return False
    with (
        written_aside(home.warehouse) as aside,
        duckdb.connect(
            aside,
            config={"storage_compatibility_version": STORAGE_VERSION, "memory_limit": MEMORY_LIMIT},
        ) as connection,
    ):
        for table in TABLES.values():
            _add_table(connection, home, table)
        for views in (SOURCE_VIEWS, VIEWS, CASE_VIEWS, DOSSIER_VIEW):
            connection.execute(views.read_text())
        connection.execute(
            "create table warehouse_version as select $1 as version, $2::integer as schema_version, "
            "map($3::varchar[], $4::varchar[]) as table_digests, $5 as code_digest",
            [version, VERSION, list(digests), list(digests.values()), code_digest()],
        )
        _add_comments(connection)
        connection.execute("checkpoint")
    return True


def warehouse_version(home: Home) -> str | None:
    """What the published warehouse was built from, as a digest; None where there is none that says so."""
    try:
        with duckdb.connect(home.warehouse, read_only=True) as connection:
            (version,) = connection.execute("select version from warehouse_version").fetchall()[0]
            return str(version)
    except duckdb.Error:
        return None


def published_rows(home: Home) -> dict[str, int]:
    """How many rows the published warehouse has of each table of COUNTED; none where none can be read."""
    try:
        with duckdb.connect(home.warehouse, read_only=True) as connection:
            counts = ", ".join(f"(select count(*) from {table}) as {table}" for table in COUNTED)
            return dict(connection.sql(f"select {counts}").to_arrow_table().to_pylist()[0])
    except duckdb.Error:
        return {}


def table_rows(home: Home) -> dict[str, int]:
    """How many rows each table of COUNTED has now. Raises BuildError where one was never made."""
    refuse_missing(home)
    return {table: row_count(home, TABLES[table]) for table in COUNTED}


def lost_rows(before: Mapping[str, int], now: Mapping[str, int]) -> str:
    """Which tables of COUNTED have lost most of their rows, in words; nothing where none has."""
    # Of one or two rows most can go by a single change of the source.
    lost = [table for table in COUNTED if before.get(table, 0) > 2 and now[table] * 2 < before[table]]
    return ", ".join(f"{table} has {now[table]} rows of {before[table]}" for table in lost)


def is_current(home: Home) -> bool:
    """Whether the published warehouse is what this code builds of the tables that there are."""
    try:
        return warehouse_version(home) == _version(table_digests(home))
    except BuildError:
        return False


def built_from(home: Home) -> dict[str, str]:
    """The digests of the Parquet files that the published warehouse was built from, by table."""
    try:
        with duckdb.connect(home.warehouse, read_only=True) as connection:
            (digests,) = connection.execute("select table_digests from warehouse_version").fetchall()[0]
            return dict(digests)
    except duckdb.Error:
        return {}


def damage_to_warehouse(home: Home) -> str | None:
    """What is wrong with the published warehouse, all of which is read for it; None where nothing is."""
    try:
        with duckdb.connect(home.warehouse, read_only=True) as connection:
            # DuckDB compares the checksum of each block that it reads.
            for table in TABLES:
                connection.execute(f"select bit_xor(hash(row)) from {table} as row").fetchall()
    except duckdb.Error as error:
        return str(error)
    return None


def table_digests(home: Home) -> dict[str, str]:
    """The digests of the tables' Parquet files, by table. Raises BuildError where one was never made."""
    refuse_missing(home)
    return {name: table_digest(home, name) for name in TABLES}


def refuse_missing(home: Home) -> None:
    """Raise BuildError where a table was never made."""
    for name in TABLES:
        if not home.table(name).exists():
            raise BuildError(f"table {name} was never made: run `kernelindex ingest`")


def table_digest(home: Home, name: str) -> str:
    """The SHA-256 of a table's Parquet file, in hex digits."""
    with home.table(name).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def code_digest() -> str:
    """A digest of the code that builds a warehouse, and of that which says whether its tables are right."""
    room = Path(__file__).parent
    digest = hashlib.sha256()
    for path in [*sorted(room.glob("*.*")), *(room.parent / name for name in CHECKING)]:
        digest.update(path.read_bytes())
    return f"sha256:{digest.hexdigest()}"


def _version(digests: dict[str, str]) -> str:
    """A digest of all that a warehouse is built from: code and tables."""
    return f"sha256:{hashlib.sha256(''.join([*digests.values(), code_digest()]).encode()).hexdigest()}"


def _add_table(connection: duckdb.DuckDBPyConnection, home: Home, table: Table) -> None:
    connection.execute(create_table(table))
    try:
        connection.execute(f"insert into {table.name} by name from {file_of(home, table)}")
    except duckdb.ConstraintException as error:
        raise BuildError(f"table {table.name} lacks a value that it must have: {error}") from error
    key = ", ".join(table.key)
    twice = f"select {key} from {table.name} group by all having count(*) > 1 order by all limit 1"
    if broken := connection.execute(twice).fetchone():
        raise BuildError(f"table {table.name} has more than one row with ({key}) = {broken}")


def create_table(table: Table) -> str:
    """The statements that create a table, with its key and its comments."""
    columns = ",\n".join(
        f"  {column.name} {column.sql_type}{' not null' if column.required else ''}"
        # What DuckDB chooses for long text takes longer to write, and more than twice the room.
        f"{' using compression zstd' if column.json else ''}"
        for column in table.columns
    )
    comments = [f"comment on table {table.name} is {quoted(table.grain)};"] + [
        f"comment on column {table.name}.{column.name} is {quoted(column.comment)};"
        for column in table.columns
    ]
    return f"create table {table.name} (\n{columns}\n);\n" + "\n".join(comments)


def _add_comments(connection: duckdb.DuckDBPyConnection) -> None:
    """Comments on what the schemas don't describe: the version, and columns of views that have none yet."""
    connection.execute(
        "comment on table warehouse_version is 'one row: what this warehouse was built from';"
        "comment on column warehouse_version.version is 'a digest of the tables and the code';"
        "comment on column warehouse_version.schema_version is 'the number of the schema: newer is higher';"
        "comment on column warehouse_version.table_digests is 'the SHA-256 of each table''s Parquet file';"
        "comment on column warehouse_version.code_digest is 'a digest of the code that built and checked it'"
    )
    uncommented = connection.execute(
        "select table_name, column_name from duckdb_columns() semi join duckdb_views() "
        "on table_name = view_name where comment is null and not internal"
    )
    for view, column in uncommented.fetchall():
        if column in MEANINGS:
            connection.execute(f"comment on column {view}.{column} is {quoted(MEANINGS[column])}")


def quoted(text: str) -> str:
    """Text as SQL writes it, for statements that take no parameters."""
    return "'" + text.replace("'", "''") + "'"
