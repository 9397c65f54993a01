"""What is said of where columns come from: it names columns that there are, and keys come from there."""

import pyarrow.compute as pc
import pytest

from assets.rankings.lineage import origins
from assets.rankings.tables import INPUTS, TABLES
from warehouse.home import Home
from warehouse.parquet import read_table
from warehouse.tables import TABLES as ALL_TABLES
from warehouse.tables import Table

FROM_NOWHERE = {"policy"}


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_column_of_a_ranking_table_comes_from_columns_that_there_are(table: Table) -> None:
    assert {*origins(table), *FROM_NOWHERE} >= set(table.schema.names) >= set(origins(table))
    read = {other.name for other in (*INPUTS, *TABLES)} - {table.name}
    for columns in origins(table).values():
        for name, column in (made_from.split(".") for made_from in columns):
            assert name in read
            assert column in ALL_TABLES[name].schema.names


def test_every_table_that_ranking_reads_is_the_origin_of_something() -> None:
    named = {
        column.split(".")[0] for table in TABLES for columns in origins(table).values() for column in columns
    }
    assert named >= {table.name for table in INPUTS}


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_what_comes_from_one_column_of_the_same_name_stands_in_it(sample_home: Home, table: Table) -> None:
    rows = read_table(sample_home, table)
    for column, columns in origins(table).items():
        other, _, name = columns[0].partition(".")
        if len(columns) == 1 and name == column:
            there = read_table(sample_home, ALL_TABLES[other])[column]
            assert pc.all(pc.is_in(rows[column], there)).as_py() in (True, None)
