"""Collections and evaluations in MLflow: one run each, from one self-contained event of the store."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import Field

from bife_core.values import Value
from tasks.home import project_home
from tasks.stores import home_store, note
from tasks.tracking import store, views
from tasks.tracking.outage import RefusedError, outage, read_cursor, twice, write_cursor
from tasks.tracking.provenance import provenance


class Record(Value):
    """All that MLflow is told of a collection or an evaluation.

    Attributes
    ----------
    key : str
        Its identity: equal inputs, equal key, one run.
    datasets : tuple of dict
        Arguments of `store.log_dataset` for all data it read or wrote.
    tables : dict
        Rows by the artifact's file name.
    files : tuple of str
        Names of artifacts in its folder.
    at_unix_s : float
        When it was finished.
    provenance : dict
        Tags that say who or what finished it, see `provenance`.
    """

    experiment: str
    key: str
    name: str
    params: dict[str, Any]
    metrics: dict[str, float | None]
    tags: dict[str, str]
    datasets: tuple[dict[str, Any], ...] = ()
    tables: dict[str, tuple[dict[str, Any], ...]] = Field(default_factory=dict)
    files: tuple[str, ...] = ()
    at_unix_s: float = 0.0
    provenance: dict[str, str] = Field(default_factory=dict)


def track_record(folder: Path, record: Record) -> str:
    """Store a record and write it to MLflow; return the id of its run.

    Parameters
    ----------
    folder : Path
        Where its files lie; its name is the key of the study.

    Returns
    -------
    str
        Empty if MLflow cannot be reached now, or refuses it; `synchronise` writes it later.
    """
    study, events = folder.name, home_store()
    with events.claim(record_claim(study)):
        known = None
        with suppress(store.TrackingError):  # an event of another version is followed by a new one
            known = read_record(study)
        # A later run that finds it done did not make it: the first time and provenance stay.
        first = known or record.model_copy(update={"at_unix_s": time.time(), "provenance": provenance()})
        record = record.model_copy(update={"at_unix_s": first.at_unix_s, "provenance": first.provenance})
        if record != known:
            events.open_study(study, study.partition("-")[0], record.name)
            events.append(study, "record", record.model_dump(mode="json"))
        if read_cursor(study) is None:
            write_cursor(study, 0, "")
        try:
            return sync_record(study)
        except store.TrackingError as error:
            note(str(error))
            return ""


def record_claim(study: str) -> str:
    """Return the claim under which a record is written."""
    return f"record {study}"


def read_record(study: str) -> Record | None:
    """Return the last record of a study, or None.

    Raises
    ------
    TrackingError
        If it cannot be read.
    """
    last = deque(home_store().events(study), maxlen=1)
    try:
        return Record.model_validate(last[0].body) if last else None
    except ValueError as error:
        raise store.TrackingError(
            f"The record {study} was written by another version of BiFE; run the command that made it again."
        ) from error


def sync_record(study: str, *, now: bool = False) -> str:
    """Write a record to MLflow and return the id of its run; empty if MLflow cannot be reached.

    Parameters
    ----------
    now : bool
        Whether to try although MLflow did not answer a moment ago.

    Raises
    ------
    TrackingError
        If MLflow refuses it, or it cannot be read.
    """
    events, record = list(home_store().events(study)), read_record(study)
    if record is None:
        return ""
    try:
        run_id = outage.reach(lambda: twice(partial(_write, project_home().runs / study, record)), now=now)
    except RefusedError as error:
        raise store.TrackingError(f"MLflow refused the record {study} ({error}).") from error
    if run_id is None:
        return ""
    write_cursor(study, events[-1].seq, run_id)
    return run_id


def _write(folder: Path, record: Record) -> str:
    time_ms, tags = int(record.at_unix_s * 1000), {**record.provenance, **record.tags}
    run_id, complete = store.open_run(record.experiment, record.key, record.name, tags, start_ms=time_ms)
    if not complete:
        store.log(run_id, params=record.params, tags=tags)
        views.save_lists()
        # A rule's model is logged to its evaluation, with the metrics at that time: they must not be logged again.
        if not store.has_metrics(run_id):
            store.log(run_id, metrics=record.metrics, time_ms=time_ms)
        for dataset in record.datasets:
            store.log_dataset(run_id, **dataset)
        for artifact, rows in record.tables.items():
            store.log_table(run_id, rows, artifact)
        store.log_files(run_id, [str(folder / name) for name in record.files])
        store.end_run(run_id, "FINISHED", time_ms)
    return run_id


def flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten nested settings to dotted names, as MLflow's params are.

    Examples
    --------
    >>> flat({"search": {"samples": 8, "operators": ["e1", "m1"]}})
    {'search.samples': 8, 'search.operators': 'e1 m1'}
    """
    params: dict[str, Any] = {}
    for name, value in settings.items():
        key = f"{prefix}{name}"
        if isinstance(value, Mapping):
            params |= flat(value, f"{key}.")
        else:
            params[key] = " ".join(str(item) for item in value) if isinstance(value, list | tuple) else value
    return params
