"""What lists of runs hold of a stage beside its files: a record in the store, which trackers copy."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final, Literal

from pydantic import Field

from bife_core.base.errors import BifeError
from bife_core.base.values import Value
from bife_core.store import Store

COLLECTION: Final = "bife-collection"
SEARCH: Final = "bife-search"
EVALUATION: Final = "bife-evaluation"
TUNING: Final = "bife-tuning"
EXPERIMENTS: Final = (COLLECTION, SEARCH, EVALUATION, TUNING)
"""Names of the lists that records are in."""


class RecordError(BifeError):
    """A record was written by another version."""


class Record(Value):
    """All that a list shows of a collection, a tuning or an evaluation; equal inputs have an equal key, and one run."""

    experiment: str
    key: str
    name: str
    params: dict[str, Any]
    metrics: dict[str, float | None]
    tags: dict[str, str]
    note: str = ""  # in Markdown, what a reader is shown first
    # Rows by the file of the artifact.
    tables: dict[str, tuple[dict[str, Any], ...]] = Field(default_factory=dict)
    files: tuple[str, ...] = ()  # artifacts in its folder
    curves: dict[str, tuple[tuple[int, float], ...]] = Field(
        default_factory=dict
    )  # metrics as steps with values
    children: tuple[Record, ...] = ()  # with runs below its own
    calls: str = ""  # account of the calls to a model API that served it
    began_unix_s: float = 0.0  # work on it
    at_unix_s: float = 0.0  # when it was finished
    state: Literal["running", "killed", "finished"] = "finished"
    provenance: dict[str, str] = Field(default_factory=dict)  # tags of the process


def store_record(store: Store, study: str, record: Record, provenance: Mapping[str, str]) -> None:
    """Store a record under a study, whose claim the caller holds; one that is finished keeps time and provenance."""
    try:
        stored, _ = read_record(store, study)
    except RecordError:  # it is followed by a new one
        stored = None
    if stored is None or record.state != stored.state != "finished":
        facts = {"at_unix_s": time.time(), "provenance": dict(provenance)}
        store.open_study(study, study.partition("-")[0], record.name)
        store.append(study, record.state, record.model_copy(update=facts).model_dump(mode="json"))


def read_record(store: Store, study: str) -> tuple[Record | None, int]:
    """Return the last record of a study, if any, and the number of its event; or raise `RecordError`."""
    events = [*store.events(study)]
    try:
        return (Record.model_validate(events[-1].body), events[-1].seq) if events else (None, 0)
    except ValueError as error:
        raise RecordError(
            f"The record {study} was written by another version of BiFE; run the command that made it again."
        ) from error
