"""Names of Dagster's that it does not promise to keep: each is looked for before it is used.

Where a release of Dagster has it no longer, the project says so, once, and goes on the public way, which is
slower or tells less.
"""

from functools import cache
from pkgutil import resolve_name

from pipelines.progress import log

_SQLITE = "dagster._core.storage.event_log.sqlite.sqlite_event_log"
# What `event_log.py` builds on.
EVENT_LOG = (
    f"{_SQLITE}:INDEX_SHARD_NAME",
    *(
        f"{_SQLITE}:SqliteEventLogStorage.{name}"
        for name in (
            "_connect",
            "_initdb",
            "conn_string_for_shard",
            "has_table",
            "store_event_batch",
            "dispose",
        )
    ),
    "dagster._core.events.log:EventLogEntry",
    "dagster._core.storage.sqlite:SQLITE_BUSY_TIMEOUT_SECONDS",
    "dagster._serdes:ConfigurableClassData",
)
# What `partitions.py` makes events with.
PARTITION_EVENTS = (
    "dagster._core.definitions.source_asset:SYSTEM_METADATA_KEY_SOURCE_ASSET_OBSERVATION",
    "dagster._core.events:DagsterEvent.asset_materialization",
    "dagster._core.events:DagsterEventBatchMetadata",
    "dagster._core.execution.plan.execute_step:_get_output_asset_events",
)
# What a check's result needs to name the materialisation of a partition.
CHECK_TARGET = (
    "dagster._core.definitions.asset_checks.asset_check_evaluation:"
    "AssetCheckEvaluationTargetMaterializationData",
)
# What tells that Dagster loads the code location anew.
LOADING = ("dagster._core.definitions.definitions_load_context:DefinitionsLoadContext",)


def there_are(names: tuple[str, ...], otherwise: str) -> bool:
    """Whether this release of Dagster has all these names; where not, say what happens `otherwise`."""
    missing = [name for name in names if not _is_there(name)]
    if missing:
        _say(f"this release of Dagster has no {', '.join(missing)}: {otherwise}")
    return not missing


def _is_there(name: str) -> bool:
    try:
        resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


@cache
def _say(what: str) -> None:
    log.warning("%s", what)
