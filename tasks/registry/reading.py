"""What MLflow has of registered rules and of samples."""

from __future__ import annotations

from pathlib import Path

from bife_core.methods.stored import RUN_FILES, RUN_REFERENCE
from tasks.registry.mlflow_registry import IN_MLFLOW
from tasks.tracking import store

by_alias, by_hash = IN_MLFLOW.find, IN_MLFLOW.versions
champion_of, present_champion_of = IN_MLFLOW.champion_of, IN_MLFLOW.present_champion_of
registered = IN_MLFLOW.registered


def sample_name(reference: str) -> str | None:
    """Return the sample's id, such as ``g02-c03``, of the rule of a run; None for other references."""
    match = RUN_REFERENCE.fullmatch(reference)
    if match is None:
        return None
    if match["file"] and match["file"] not in RUN_FILES:
        return Path(match["file"]).stem
    data = store.run_data(match["run"])
    return data.tags.get("best_sample") or data.tags.get("sample_id") or data.params.get("rule")
