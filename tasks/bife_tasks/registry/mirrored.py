"""The registry in a database of MLflow's, without MLflow as far as it was read before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from bife_core.registry.base import Registry
from bife_core.registry.evidence import Evidence, RegisteredRule
from bife_core.solver.methods.base import Method
from bife_tasks.mirror import Mirror, mirror, mirrored


class MirroredRegistry(Registry):
    """The registry in a database of MLflow's, which is loaded only for what the `Mirror` does not hold."""

    def __init__(self, database: Path) -> None:
        self._database = database

    @property
    def _mlflow(self) -> Registry:
        from bife_tasks.registry.mlflow_registry import IN_MLFLOW

        return IN_MLFLOW

    def _mirror(self) -> Mirror:
        return mirrored(self._database) or mirror(self._database, self._mlflow)

    def versions(self, name: str | None = None, sha: str | None = None) -> list[RegisteredRule]:
        """Return all versions, or those of a name and hash, as far as they are mirrored with evidence."""
        if (name, sha) != (None, None):
            return self._mlflow.versions(name, sha)
        return [*self._mirror().versions]

    def find(self, name: str, which: str | int) -> RegisteredRule | None:
        """Return the version that holds an alias, or has a number; None if there is none."""
        return self._mirror().find(name, which) or self._mlflow.find(name, which)

    def text(self, version: RegisteredRule) -> str:
        """Return the text of the method that a version holds."""
        return self._mirror().texts.get(version.reference) or self._mlflow.text(version)

    def held(self, name: str) -> AbstractContextManager[None]:
        """Hold the claim of the home's store on the registry."""
        return self._mlflow.held(name)

    def located(self, evidence: Evidence) -> Evidence:
        """Return evidence that names evaluation and search by their runs."""
        return self._mlflow.located(evidence)

    def create(
        self, name: str, method: Method, evidence: Evidence, tags: Mapping[str, str], card: str
    ) -> int:
        """Make a version that holds a method, and return its number."""
        return self._mlflow.create(name, method, evidence, tags, card)

    def update(
        self, name: str, number: int, tags: Mapping[str, str], *, without: Iterable[str] = (), card: str = ""
    ) -> None:
        """Set tags of a version, take others away, and replace its card if one is given."""
        self._mlflow.update(name, number, tags, without=without, card=card)

    def set_alias(self, name: str, alias: str, number: int | None) -> None:
        """Give an alias to one version of a name, or to none."""
        self._mlflow.set_alias(name, alias, number)

    def champion_changed(self, **change: Any) -> None:
        """Emit that as an event."""
        self._mlflow.champion_changed(**change)
