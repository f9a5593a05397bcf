"""Collections and evaluations in MLflow: one run each, found again by its key."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tasks.tracking import store


def track_stage(
    experiment: str,
    key: str,
    name: str,
    *,
    params: Mapping[str, Any],
    metrics: Mapping[str, float | None],
    tags: Mapping[str, str],
    datasets: Sequence[Mapping[str, Any]] = (),
    tables: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    files: Sequence[Path] = (),
) -> str:
    """Write a finished stage as one run and return its id; a stage already written is left as it is.

    Parameters
    ----------
    key : str
        Identity of the stage: equal inputs, equal key, one run.
    datasets : sequence of mapping
        Arguments of `store.log_dataset` for all data the stage read or wrote.
    tables : mapping
        Rows by the artifact's file name.

    Raises
    ------
    TrackingError
        If the store cannot be reached.
    """
    run_id, complete = store.open_run(experiment, key, name, tags)
    if complete:
        return run_id
    try:
        store.log(run_id, params=params, metrics=metrics, tags=tags, time_ms=int(time.time() * 1000))
        for dataset in datasets:
            store.log_dataset(run_id, **dataset)
        for artifact, rows in (tables or {}).items():
            store.log_table(run_id, rows, artifact)
        for path in files:
            store.log_file(run_id, path)
        store.client().set_terminated(run_id, "FINISHED")
    except store.TRACKING_TROUBLE as error:
        raise store.TrackingError(
            f"MLflow at {store.tracking_uri()} did not take the run {name!r} ({store.first_line(error)}); "
            "run again once it is reachable: nothing is computed twice."
        ) from error
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
