"""The registry in a database of MLflow's, without MLflow as far as it was read before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bife_core.registry.base import Registry
from bife_core.registry.evidence import RegisteredRule
from bife_tasks.mirror import Mirror, mirror, mirrored


def _in_mlflow(name: str) -> Any:
    """Return a method that calls the one of that name of MLflow's registry."""
    return lambda self, *args, **kwargs: getattr(self._mlflow, name)(*args, **kwargs)


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
        unfiltered = (name, sha) == (None, None)
        return [*self._mirror().versions] if unfiltered else self._mlflow.versions(name, sha)

    def find(self, name: str, which: str | int) -> RegisteredRule | None:  # noqa: D102
        return self._mirror().find(name, which) or self._mlflow.find(name, which)

    def text(self, version: RegisteredRule) -> str:  # noqa: D102
        return self._mirror().texts.get(version.reference) or self._mlflow.text(version)

    held = _in_mlflow("held")
    located = _in_mlflow("located")
    create = _in_mlflow("create")
    update = _in_mlflow("update")
    set_alias = _in_mlflow("set_alias")
    champion_changed = _in_mlflow("champion_changed")
