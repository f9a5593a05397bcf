"""Registered rules: versions in MLflow's registry with their evidence, and which of them is champion and why.

A version is an MLflow model without pickle. `deciding.register` makes one, `evidence.gate` decides by its evidence
whether it becomes champion, and a person may promote, refuse or roll back. All raise `TrackingError` if MLflow does not
answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasks.home import registry_is_empty

if TYPE_CHECKING:
    from tasks.registry.evidence import RegisteredRule


def registered_rules() -> list[RegisteredRule]:
    """Return what `reading.list_rules` does; MLflow, which takes seconds, is not loaded for an empty registry."""
    if registry_is_empty():
        return []
    from tasks.registry.reading import list_rules

    return list_rules()
