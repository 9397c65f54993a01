"""Dagster's own event log in SQLite, with its connections kept: Dagster opens a new one for each statement.

A run over a few hundred kernels stores over a thousand events, and opening connections is most of what that
costs. Where the files are and what stands in them is Dagster's affair, and is the same without this class.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, Self

from dagster._core.events.log import EventLogEntry
from dagster._core.storage.event_log.sqlite.sqlite_event_log import INDEX_SHARD_NAME, SqliteEventLogStorage
from dagster._core.storage.sqlite import SQLITE_BUSY_TIMEOUT_SECONDS
from dagster._serdes import ConfigurableClassData
from sqlalchemy import Connection, Engine, create_engine, event

_MOST_OPEN = 8


class EventLog(SqliteEventLogStorage):
    """See the module. A batch of events is one transaction."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        self._engines: dict[str, Engine] = {}
        self._tables: set[str] = set()
        self._transactions: dict[str, Connection] = {}
        super().__init__(base_dir, inst_data)
        self._db_lock = RLock()  # type: ignore[assignment]  # Shards are held together in a batch.

    @classmethod
    def config_type(cls) -> Any:
        """None: it lies in Dagster's home, where Dagster would put it."""
        return {}

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData | None, config_value: Any) -> Self:
        """See ConfigurableClass."""
        return cls(str(Path(os.environ["DAGSTER_HOME"], "history", "runs")), inst_data)

    def has_table(self, table_name: str) -> bool:
        """See SqlEventLogStorage. A table that is there stays."""
        if table_name not in self._tables and super().has_table(table_name):
            self._tables.add(table_name)
        return table_name in self._tables

    def dispose(self) -> None:
        """See EventLogStorage."""
        while self._engines:
            self._engines.popitem()[1].dispose()
        super().dispose()

    def store_event_batch(self, events: Sequence[EventLogEntry]) -> None:
        """See EventLogStorage. All of them, or none."""
        with ExitStack() as batch:
            for shard in [*{event.run_id for event in events}, INDEX_SHARD_NAME]:
                batch.enter_context(self._connect(shard))
            super().store_event_batch(events)

    def _engine(self, address: str) -> Engine:
        # A daemon sees many runs, each in a file of its own: only those used last stay open.
        engine = self._engines.pop(address, None) or _opened(address)
        self._engines[address] = engine
        if len(self._engines) > _MOST_OPEN:
            self._engines.pop(next(iter(self._engines))).dispose()
        return engine

    @contextmanager
    def _connect(self, shard: str) -> Iterator[Connection]:
        with self._db_lock:
            if shard in self._transactions:
                yield self._transactions[shard]
                return
            engine = self._engine(self.conn_string_for_shard(shard))
            if shard not in self._initialized_dbs:
                self._initdb(engine)
                self._initialized_dbs.add(shard)
            with engine.begin() as connection:
                self._transactions[shard] = connection
                try:
                    yield connection
                finally:
                    del self._transactions[shard]


def _opened(address: str) -> Engine:
    engine = create_engine(address, connect_args={"timeout": SQLITE_BUSY_TIMEOUT_SECONDS})

    @event.listens_for(engine, "connect")
    def set_up(connection: Any, _: Any) -> None:
        # With a write-ahead log, which Dagster sets, no more than the last events go when power fails.
        connection.execute("pragma synchronous = normal")

    return engine
