"""Collections and evaluations in MLflow: one run each, written to a folder of its own and told to MLflow from there."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from pydantic import Field

from bife_core.files import write_whole
from bife_core.values import Value
from tasks.progress import note
from tasks.stores import home_store
from tasks.tracking import store, views
from tasks.tracking.marker import read_marker, write_marker
from tasks.tracking.outage import RefusedError, outage, twice
from tasks.tracking.provenance import provenance

FILE: Final = "stage.json"


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
    with home_store().claim(stage_claim(folder)):
        known = None
        with suppress(store.TrackingError):  # a damaged record is written anew
            known = read_stage(folder)
        # It is told as it was finished first: a later run that finds it done has not made it.
        first = known or stage.model_copy(update={"at_unix_s": time.time(), "provenance": provenance()})
        kept = {"at_unix_s": first.at_unix_s, "provenance": first.provenance}
        write_whole(folder / FILE, stage.model_copy(update=kept).model_dump_json())
        if read_marker(folder) is None:
            write_marker(folder, "", 0)
        try:
            return project_stage(folder)
        except store.TrackingError as error:
            note(str(error))
            return ""


def stage_claim(folder: Path) -> str:
    """Return the claim that keeps others from delivering the same stage."""
    return f"stage {folder.name}"


def read_stage(folder: Path) -> Stage | None:
    """Return what a folder says of its stage, or None if it says nothing.

    Raises
    ------
    TrackingError
        If it cannot be read.
    """
    path = folder / FILE
    try:
        return Stage.model_validate_json(path.read_bytes()) if path.is_file() else None
    except ValueError as error:
        raise store.TrackingError(
            f"{path} is damaged, or of another version; run the command that made it again, which writes it anew."
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
        raise store.TrackingError(f"MLflow refused the record {folder / FILE} ({error}).") from error
    if run_id is None:
        return ""
    write_marker(folder, run_id, (folder / FILE).stat().st_size)
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
