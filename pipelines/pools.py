"""Pools: steps of which only one at a time may be at it, over all Dagster runs of an instance.

Dagster admits any number of steps to a pool that has no limit, and a limit stands in the instance, not in the
code. So the limits are set here, on any instance, before anything is written; and a step that Dagster let in
without a place in its pool, as where pools are counted by the run, takes one itself.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from pipelines.names import own

# Of the source: it asks for restraint.
FETCHING = own("fetching")
# Of tables and the warehouse: of two steps that write the same one, the later has seen what the other saw.
PUBLISHING = own("publishing")

_LOOK_AGAIN_S = 0.5


def limit_pools(instance: dg.DagsterInstance) -> None:
    """Let each pool admit one step at a time; one that an operator closed (limit 0) stays closed.

    Raises dg.Failure where the instance can't limit pools: steps would interleave there.
    """
    if instance.is_ephemeral:  # Nobody else is in it.
        return
    storage = instance.event_log_storage
    if not storage.supports_global_concurrency_limits:
        raise dg.Failure(
            f"nothing was begun: {type(storage).__name__}, which keeps the events of this Dagster instance, "
            "can't limit pools, so two runs could write at once; use Dagster's SQLite or Postgres storage"
        )
    for pool in (FETCHING, PUBLISHING):
        info = storage.get_concurrency_info(pool)
        if info.limit is None or info.using_default_limit or info.limit > 1:
            storage.set_concurrency_slots(pool, 1)


@contextmanager
def alone_in(pool: str, context: dg.AssetExecutionContext) -> Iterator[None]:
    """Be the only step of a pool that is at it. Waits for the others."""
    instance, run_id = context.instance, context.run.run_id
    if instance.is_ephemeral:
        yield
        return
    storage, step = instance.event_log_storage, str(context.op_execution_context.op_handle)
    has_place = (run_id, step) in _holders(instance, pool)
    try:
        # Where the pool admitted more until now, more than one hold a place: the first of them goes first.
        while not (
            storage.claim_concurrency_slot(pool, run_id, step).is_claimed
            and min(_holders(instance, pool)) == (run_id, step)
        ):
            _free_the_dead(instance, pool)
            time.sleep(_LOOK_AGAIN_S)
        yield
    finally:
        # A place that Dagster took for the step it gives back itself.
        if not has_place:
            storage.free_concurrency_slot_for_step(run_id, step)


def _holders(instance: dg.DagsterInstance, pool: str) -> set[tuple[str, str]]:
    info = instance.event_log_storage.get_concurrency_info(pool)
    return {(slot.run_id, slot.step_key) for slot in info.claimed_slots}


def _free_the_dead(instance: dg.DagsterInstance, pool: str) -> None:
    """Give back the places of runs that are over: Dagster does so only where its daemon watches runs."""
    for run_id in {run_id for run_id, _ in _holders(instance, pool)}:
        run = instance.get_run_by_id(run_id)
        if run is None or run.is_finished:
            instance.event_log_storage.free_concurrency_slots_for_run(run_id)
