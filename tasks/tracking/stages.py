"""Collections and evaluations in MLflow: one run each, written to a folder of its own and told to MLflow from there."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from pydantic import Field

from bife_core.values import Value
from tasks.progress import note
from tasks.stores import home_store
from tasks.tracking import store, views
from tasks.tracking.marker import read_marker, write_marker
from tasks.tracking.outage import RefusedError, outage, twice
from tasks.tracking.provenance import provenance

FILE: Final = "stage"
"""Kind of the event that holds a stage."""


class Stage(Value):
    """All that MLflow is told of a finished stage.

    Attributes
    ----------
    key : str
        Identity of the stage: equal inputs, equal key, one run.
    datasets : tuple of dict
        Arguments of `store.log_dataset` for all data the stage read or wrote.
    tables : dict
        Rows by the artifact's file name.
    files : tuple of str
        Names of files in the folder.
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


def track_stage(folder: Path, stage: Stage) -> str:
    """Write a finished stage to its folder and to MLflow, and return the id of its run.

    A stage that MLflow has is left as it is.

    Parameters
    ----------
    folder : Path
        Where its files lie; made where it is missing.

    Returns
    -------
    str
        Empty if MLflow cannot be reached now, or refuses it; the folder is delivered later, see `deliver_waiting`.
    """
    study, events = folder.name, home_store()
    with events.claim(stage_claim(folder)):
        known = None
        with suppress(store.TrackingError):  # an event of another version is followed by a new one
            known = read_stage(folder)
        # It is reported as it was finished first: a later run that finds it done has not made it.
        first = known or stage.model_copy(update={"at_unix_s": time.time(), "provenance": provenance()})
        stage = stage.model_copy(update={"at_unix_s": first.at_unix_s, "provenance": first.provenance})
        if stage != known:
            events.open_study(study, study.partition("-")[0], stage.name)
            events.append(study, FILE, stage.model_dump(mode="json"))
        if read_marker(study) is None:
            write_marker(study, "", 0)
        try:
            return project_stage(folder)
        except store.TrackingError as error:
            note(str(error))
            return ""


def stage_claim(folder: Path) -> str:
    """Return the claim that keeps others from delivering the same stage."""
    return f"stage {folder.name}"


def read_stage(folder: Path) -> Stage | None:
    """Return what the store says of the stage with that folder, or None if it says nothing.

    Raises
    ------
    TrackingError
        If it cannot be read.
    """
    last = deque(home_store().events(folder.name), maxlen=1)
    try:
        return Stage.model_validate(last[0].body) if last else None
    except ValueError as error:
        raise store.TrackingError(
            f"The record {folder.name} was written by another version of BiFE; run the command that made it again."
        ) from error


def project_stage(folder: Path, *, now: bool = False) -> str:
    """Tell MLflow of the stage in a folder and return the id of its run, or nothing if MLflow cannot be reached.

    Parameters
    ----------
    now : bool
        Whether to try although the server did not answer a moment ago.

    Raises
    ------
    TrackingError
        If MLflow refuses it, or the folder's record cannot be read.
    """
    stage = read_stage(folder)
    if stage is None:
        return ""
    try:
        run_id = outage.reach(lambda: twice(partial(_write, folder, stage)), now=now)
    except RefusedError as error:
        raise store.TrackingError(f"MLflow refused the record {folder.name} ({error}).") from error
    if run_id is None:
        return ""
    write_marker(folder.name, run_id, sum(1 for _ in home_store().events(folder.name)))
    return run_id


def _write(folder: Path, stage: Stage) -> str:
    time_ms, tags = int(stage.at_unix_s * 1000), {**stage.provenance, **stage.tags}
    run_id, complete = store.open_run(stage.experiment, stage.key, stage.name, tags, start_ms=time_ms)
    if not complete:
        store.log(run_id, params=stage.params, tags=tags)
        views.save_lists()
        # A registered rule's model is logged to its evaluation, which a kill in that moment leaves open: what was
        # measured is known by then and must not be logged once more, by a machine with another clock least of all.
        if not store.has_metrics(run_id):
            store.log(run_id, metrics=stage.metrics, time_ms=time_ms)
        for dataset in stage.datasets:
            store.log_dataset(run_id, **dataset)
        for artifact, rows in stage.tables.items():
            store.log_table(run_id, rows, artifact)
        store.log_files(run_id, [str(folder / name) for name in stage.files])
        store.end_run(run_id, "FINISHED", time_ms)
    return run_id


def flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten nested settings to dotted names, as MLflow's params want them.

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
        elif isinstance(value, list | tuple):
            params[key] = " ".join(str(item) for item in value)
        else:
            params[key] = value
    return params
