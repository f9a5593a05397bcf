"""Where a rule came from, as the registry keeps it."""

from __future__ import annotations

import re
from typing import Final

from mlflow.exceptions import MlflowException

from bife_core.search import Sample
from bife_core.values import Value
from tasks.tracking import store

_RUN: Final = re.compile(r"runs:/(?P<run>[0-9a-f]{32})(?:/.*)?")


class Origin(Value):
    """The search a rule came from; empty for a rule written by hand."""

    evolution_key: str = ""
    evolution_run: str = ""
    f_lf: float | None = None
    f_hf: float | None = None
    cost: str = ""
    decisions_digest: str = ""
    lineage: str = ""


def lineage(best: Sample | None) -> str:
    """Return in one line who wrote a rule from what.

    Examples
    --------
    >>> lineage(Sample(id="g01-c02", generation=1, operator="m1", parents=("g00-c00",)))
    'g01-c02 by m1 from g00-c00'
    """
    if best is None:
        return ""
    parents = f" from {', '.join(best.parents)}" if best.parents else ""
    return f"{best.id} by {best.operator}{parents}"


def origin_of(reference: str) -> Origin:
    """Return what MLflow knows of the evolution a rule reference ``runs:/RUN_ID`` names; nothing for any other.

    Raises
    ------
    TrackingError
        If the run cannot be read.
    """
    match = _RUN.fullmatch(reference)
    if match is None:
        return Origin()
    run_id = match["run"]
    try:
        run = store.client().get_run(run_id)
        tags, params, metrics = run.data.tags, run.data.params, run.data.metrics
        if tags.get("kind") != "evolution":
            return Origin()
        best = tags.get("best_sample", "")
        children = store.children(store.EVOLUTION, run_id)
    except MlflowException as error:
        raise store.TrackingError(
            f"MLflow at {store.tracking_uri()} cannot be asked for run {run_id} ({store.first_line(error)})."
        ) from error
    child = next((found for found in children if found.data.tags.get("sample_id") == best), None)
    by = ""
    if child is not None:
        parents = ", ".join(child.data.tags.get("parents", "").split())
        by = f" by {child.data.params.get('operator', '?')}" + (f" from {parents}" if parents else "")
    return Origin(
        evolution_key=tags.get("evolution_key", ""),
        evolution_run=run_id,
        f_lf=metrics.get("final_f_lf"),
        f_hf=metrics.get("final_f_hf"),
        cost=params.get("high.cost", ""),
        decisions_digest=params.get("decisions", ""),
        lineage=f"{best}{by}",
    )
