"""What lists of runs hold of a stage beside its files: a record in the store, which trackers copy."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

from pydantic import Field

from bife_core.errors import BifeError
from bife_core.store import Store
from bife_core.values import Value

COLLECTION: Final = "bife-collection"
EVOLUTION: Final = "bife-evolution"
EVALUATION: Final = "bife-evaluation"
TUNING: Final = "bife-tuning"
EXPERIMENTS: Final = (COLLECTION, EVOLUTION, EVALUATION, TUNING)
"""Names of the lists that records are in."""


class RecordError(BifeError):
    """A record was written by another version."""


class Record(Value):
    """All that a list shows of a collection, a tuning or an evaluation; equal inputs have an equal key, and one run.

    `tables` are rows by the artifact's file name, `files` names of artifacts in its folder, `curves` metrics by step;
    `children` have runs below its own. `calls` names the account of calls to a model API that served it. Work on it
    began at `began_unix_s` and was finished at `at_unix_s`; `provenance` are tags of the process.
    """

    experiment: str
    key: str
    name: str
    params: dict[str, Any]
    metrics: dict[str, float | None]
    tags: dict[str, str]
    tables: dict[str, tuple[dict[str, Any], ...]] = Field(default_factory=dict)
    files: tuple[str, ...] = ()
    curves: dict[str, tuple[float, ...]] = Field(default_factory=dict)
    children: tuple[Record, ...] = ()
    calls: str = ""
    began_unix_s: float = 0.0
    at_unix_s: float = 0.0
    provenance: dict[str, str] = Field(default_factory=dict)


class TrackedRun(Value):
    """A run of MLflow, without an id where there is none yet; addresses are relative where it has no server.

    `ranking` is that of a search's samples, best first.
    """

    run_id: str = ""
    url: str = ""
    ranking: str = ""


def store_record(store: Store, study: str, record: Record, provenance: Mapping[str, str]) -> None:
    """Store a record under a study, whose claim the caller holds, unless it is stored: it keeps time and provenance."""
    try:
        stored, _ = read_record(store, study)
    except RecordError:  # it is followed by a new one
        stored = None
    if stored is None:
        own = {"at_unix_s": time.time(), "provenance": dict(provenance)}
        store.open_study(study, study.partition("-")[0], record.name)
        store.append(study, "record", record.model_copy(update=own).model_dump(mode="json"))


def read_record(store: Store, study: str) -> tuple[Record | None, int]:
    """Return the last record of a study, if any, and the number of its event; or raise `RecordError`."""
    events = [*store.events(study)]
    try:
        return (Record.model_validate(events[-1].body), events[-1].seq) if events else (None, 0)
    except ValueError as error:
        raise RecordError(
            f"The record {study} was written by another version of BiFE; run the command that made it again."
        ) from error
