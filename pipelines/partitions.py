"""Partitions as Dagster should see them: those of a run that were made, each with the version of its data."""

from collections.abc import Iterator, Mapping
from typing import Any
from uuid import uuid4

import dagster as dg

from pipelines.private_names import PARTITION_EVENTS, there_are


def made_partitions(
    context: dg.AssetExecutionContext, versions: Mapping[str, str], metadata: Mapping[str, Any]
) -> Iterator[Any]:
    """Report these partitions as materialised, each with its own data version, and no other of the run.

    What an asset returns counts for all partitions of a run, also for those that failed, and Dagster offers
    no other way yet. So here its own events are made, a partition at a time, and the result, which the steps
    that follow wait for, is marked as one that makes none.
    """
    if not there_are(PARTITION_EVENTS, "a run's kernels show as made together, also those that failed"):
        yield dg.MaterializeResult(metadata=metadata)
        return
    from dagster._core.definitions.source_asset import SYSTEM_METADATA_KEY_SOURCE_ASSET_OBSERVATION
    from dagster._core.events import DagsterEvent, DagsterEventBatchMetadata
    from dagster._core.execution.plan.execute_step import _get_output_asset_events

    step = context.op_execution_context.get_step_execution_context()
    (output_def,) = step.op_def.output_defs
    execution_type = context.assets_def.execution_type
    batch_id = str(uuid4())
    for number, (partition, version) in enumerate(versions.items(), start=1):
        output = dg.Output(None, metadata=metadata, data_version=dg.DataVersion(version))
        (event,) = _get_output_asset_events(
            context.asset_key, [partition], output, output_def, {}, step, execution_type
        )
        batch = DagsterEventBatchMetadata(batch_id, is_end=number == len(versions))
        assert isinstance(event, dg.AssetMaterialization)
        yield DagsterEvent.asset_materialization(step, event, batch)
    yield dg.MaterializeResult(metadata={SYSTEM_METADATA_KEY_SOURCE_ASSET_OBSERVATION: True})
