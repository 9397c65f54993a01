"""Tables and views as people meet them in SQL: what each is, and by which names they join."""

from collections.abc import Iterator

import duckdb
import pytest

import warehouse
from warehouse.home import Home


@pytest.fixture(scope="module")
def connection(published_home: Home) -> Iterator[duckdb.DuckDBPyConnection]:
    with warehouse.connect(published_home.directory) as connection:
        yield connection


def test_every_table_view_and_macro_says_what_it_is(connection: duckdb.DuckDBPyConnection) -> None:
    silent = connection.sql(
        """
        select table_name as name from duckdb_tables() where comment is null and database_name = 'warehouse'
        union all
        select view_name from duckdb_views() where comment is null and database_name = 'warehouse'
            and not internal
        union all
        select function_name from duckdb_functions() where comment is null and database_name = 'warehouse'
            and not internal
        """
    )
    assert silent.fetchall() == []


def test_every_column_of_a_table_or_view_says_what_it_is(connection: duckdb.DuckDBPyConnection) -> None:
    silent = connection.sql(
        "select table_name || '.' || column_name from duckdb_columns() "
        "where coalesce(comment, '') = '' and database_name = 'warehouse' and not internal"
    )
    assert silent.fetchall() == []


def test_a_run_leads_to_its_submission_and_its_kernel_by_their_ids(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    rows = connection.sql(
        """
        select username = project, kernel_name = kernel, round(sol_geomean_ms, 6)
        from leaderboard
        join source_submissions using (submission_id, kernel_id)
        join source_kernels using (kernel_id)
        join kernel_bounds using (kernel_id)
        where submission_id = 35819
        """
    )
    assert rows.fetchall() == [(True, True, 0.076029)]


def test_what_the_leaderboard_calls_a_kernels_baseline_is_its_bound(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    kernels, as_bound, as_baseline = connection.sql(
        """
        select
            count(*),
            count(*) filter (abs(baseline_latency_ms - sol_geomean_ms) < 0.000001),
            count(*) filter (abs(baseline_latency_ms - baseline_geomean_ms) < 0.000001)
        from source_kernels
        join kernel_bounds using (kernel_id)
        """
    ).fetchall()[0]
    assert (kernels, as_bound, as_baseline) == (24, 24, 0)
    ((comment,),) = connection.sql(
        "select comment from duckdb_columns() "
        "where table_name = 'source_kernels' and column_name = 'baseline_latency_ms'"
    ).fetchall()
    assert "no baseline" in comment
    assert "kernel_bounds.baseline_geomean_ms" in comment


def test_of_every_run_and_operation_the_leaderboards_ids_are_known(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    assert connection.sql(
        "select count(*) from runs anti join source_submissions using (submission_id)"
    ).fetchall() == [(0,)]
    assert connection.sql(
        "select count(*) from operations anti join source_kernels using (kernel_id)"
    ).fetchall() == [(0,)]


def test_older_duckdbs_can_read_it(connection: duckdb.DuckDBPyConnection) -> None:
    (tags,) = connection.sql(
        "select tags from duckdb_databases() where database_name = 'warehouse'"
    ).fetchall()
    assert tags == ({"storage_version": "v1.3.0+"},)
    # It is a function since 2.0; those before it don't find one by that name.
    saying_if = connection.sql(
        "select view_name from duckdb_views() where sql ilike '%if(%' and not internal"
    )
    assert saying_if.fetchall() == []
