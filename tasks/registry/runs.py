"""What MLflow's runs hold of rules: ``runs:/RUN_ID`` is an evolution's best rule, or a sample's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mlflow.entities import RunData
from mlflow.exceptions import MlflowException
from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID

from bife_core.errors import BifeError
from bife_core.methods.loading import RUN_FILES, RUN_REFERENCE
from tasks.registry.evidence import Origin
from tasks.tracking import store


def known_as(reference: str) -> str | None:
    """Return what a reader knows the rule of a run by: its sample's id, such as ``g02-c03``; None for other references.

    Raises
    ------
    BifeError
        If the run cannot be read.
    """
    match = RUN_REFERENCE.fullmatch(reference)
    if match is None:
        return None
    if match["file"] and match["file"] not in RUN_FILES:
        return Path(match["file"]).stem
    data = _data_of(match["run"])
    known = (data.tags.get("best_sample"), data.tags.get("sample_id"), data.params.get("rule"))
    return next(filter(None, known), None)


def origin_of(reference: str) -> Origin:
    """Return what MLflow knows of the evolution a reference ``runs:/RUN_ID`` names; nothing for any other.

    Raises
    ------
    BifeError
        If the run cannot be read.
    """
    match = RUN_REFERENCE.fullmatch(reference)
    if match is None:
        return Origin()
    run_id = match["run"]
    data = _data_of(run_id)
    if data.tags.get("kind") != "evolution":
        return Origin()
    best = data.tags.get("best_sample", "")
    the_best = f"tags.`{MLFLOW_PARENT_RUN_ID}` = '{run_id}' and tags.sample_id = '{best}'"
    with _asking_for(run_id):
        child = next(store.find_runs(store.EVOLUTION, the_best), None)
    by = ""
    if child is not None:
        parents = ", ".join(child.data.tags.get("parents", "").split())
        by = f" by {child.data.params.get('operator', '?')}" + (f" from {parents}" if parents else "")
    return Origin(
        evolution_key=data.tags.get("evolution_key", ""),
        evolution_run=run_id,
        f_lf=data.metrics.get("final_f_lf"),
        f_hf=data.metrics.get("final_f_hf"),
        cost=data.params.get("high.cost", ""),
        decisions_digest=data.params.get("decisions", ""),
        lineage=f"{best}{by}",
    )


def tag_of_run(run_id: str, tag: str) -> str:
    """Return a tag of a run, or nothing where the run has no such tag.

    Raises
    ------
    BifeError
        If there is no such run, or the store cannot be reached.
    """
    return str(_data_of(run_id).tags.get(tag, ""))


def _data_of(run_id: str) -> RunData:
    """Return parameters, metrics and tags of a run, or raise `BifeError` in a sentence."""
    with _asking_for(run_id):
        return store.client().get_run(run_id).data


@contextmanager
def _asking_for(run_id: str) -> Iterator[None]:
    """Say in a sentence why a run cannot be had."""
    try:
        store.client()
        yield
    except MlflowException as error:
        if error.error_code == "RESOURCE_DOES_NOT_EXIST":
            raise BifeError(f"MLflow at {store.tracking_uri()} holds no run {run_id}.") from error
        raise store.TrackingError(
            f"MLflow at {store.tracking_uri()} cannot be asked for run {run_id} ({store.first_line(error)})."
        ) from error
