"""The first stage: strong-branching decisions on the collection instances."""

from __future__ import annotations

from bife_core.settings import Settings
from flows.reporting.conduct import stage
from flows.results import CollectionResult, TrackedRun
from tasks.collection import collect, track_collection
from tasks.states import with_message
from tasks.stores import noted, observer
from tasks.tracking.store import COLLECTION


@stage("collection")
def collection(config: Settings) -> CollectionResult:
    """Record expert samples of a benchmark; instances done in an earlier run are not solved again.

    Parameters
    ----------
    config : Settings
        Its `instances`, `solver`, `collection` and `runner` are read.
    """
    wanted = config.collection.decisions
    observer().stage("collection", f"{wanted} decisions on {config.instances.label}")
    summary = collect(config)
    run_id = track_collection(config, summary)
    count = f"{len(summary.instances)} instances."
    few = f"{summary.decisions} of {wanted} decisions could be recorded on {count}"
    short = (few,) if summary.decisions < wanted else ()
    notes = noted((*short, *summary.failures, *summary.notes))
    result = CollectionResult(summary=summary, run=TrackedRun.of(COLLECTION, run_id), notes=notes)
    return with_message(result, f"{summary.decisions} decisions on {count}")
