"""Collections and evaluations in MLflow: one run each, found again by its key."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tasks.home import project_home
from tasks.locks import process_lock
from tasks.tracking import store
from tasks.tracking.spool import Spool


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

    Returns
    -------
    str
        Empty if MLflow cannot be reached now; the stage is kept on disk then and delivered later, see `Spool`.
    """
    written: list[str] = []

    def write(**payload: Any) -> None:
        written.append(_write(experiment, key, name, **payload))

    with process_lock(project_home().locks / f"stage-{key}.lock"):
        spool = Spool(key, {"stage": write})
        if not (len(spool) and spool.deliver()):
            spool.add(
                "stage",
                params=dict(params),
                metrics=dict(metrics),
                tags=dict(tags),
                datasets=[dict(dataset) for dataset in datasets],
                tables={artifact: [dict(row) for row in rows] for artifact, rows in (tables or {}).items()},
                files=[str(path) for path in files],
                time_ms=int(time.time() * 1000),
            )
    return written[-1] if written else ""


def _write(
    experiment: str,
    key: str,
    name: str,
    *,
    params: Mapping[str, Any],
    metrics: Mapping[str, float | None],
    tags: Mapping[str, str],
    datasets: Sequence[Mapping[str, Any]],
    tables: Mapping[str, Sequence[Mapping[str, Any]]],
    files: Sequence[str],
    time_ms: int,
) -> str:
    run_id, complete = store.open_run(experiment, key, name, tags)
    # A registered rule's model is logged to its evaluation, which a kill in that moment leaves open: what was
    # measured is known by then and must not be logged once more.
    if not complete and not store.has_metrics(run_id):
        store.log(run_id, params=params, metrics=metrics, tags=tags, time_ms=time_ms)
    if not complete:
        for dataset in datasets:
            store.log_dataset(run_id, **dataset)
        for artifact, rows in tables.items():
            store.log_table(run_id, rows, artifact)
        store.log_files(run_id, files)
        store.client().set_terminated(run_id, "FINISHED")
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
