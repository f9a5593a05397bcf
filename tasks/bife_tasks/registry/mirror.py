"""MLflow's registry as it was last read: a file that answers without MLflow while its database is unchanged."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from bife_core.base.files import write_whole
from bife_core.base.values import Value
from bife_core.registry.base import Registry
from bife_core.registry.evidence import Evidence, RegisteredRule
from bife_core.solver.methods.base import Method

_TICK_S: Final = 2.0
"""A database that was changed so lately may change again without another time stamp."""


class Mirror(Value):
    """All versions; of those with an alias the texts too, by their references."""

    state: tuple[tuple[int, int], ...]
    versions: tuple[RegisteredRule, ...]
    texts: dict[str, str]

    def find(self, name: str, which: str | int) -> RegisteredRule | None:
        """Return the version that holds an alias, or one with an alias that has a number."""
        return next(
            (
                version
                for version in self.versions
                if version.name == name and version.aliases and which in (version.version, *version.aliases)
            ),
            None,
        )


def _file(database: Path) -> Path:
    return database.with_name(f"{database.name}.registry.json")


def _state(database: Path) -> tuple[tuple[int, int], ...]:
    """Return when the files of a database were written, and their sizes."""
    states = []
    for file in (database, database.with_name(f"{database.name}-wal")):
        with suppress(FileNotFoundError):
            states.append(((stat := file.stat()).st_mtime_ns, stat.st_size))
    return tuple(states)


def mirrored(database: Path) -> Mirror | None:
    """Return what a database of MLflow's holds, if it is that of the last `mirror`."""
    try:
        mirror = Mirror.model_validate_json(_file(database).read_bytes())
    except (OSError, ValidationError):
        return None
    return mirror if mirror.state == _state(database) else None


def mirror(database: Path, registry: Registry) -> Mirror:
    """Read the registry in a database, and keep it for `mirrored`."""
    state = _state(database)
    versions = tuple(registry.versions())
    texts = {version.reference: registry.text(version) for version in versions if version.aliases}
    held = Mirror(state=state, versions=versions, texts=texts)
    if all(time.time() - written / 1e9 > _TICK_S for written, _ in state):
        with suppress(OSError):  # a home that cannot be written to is read anew each time
            write_whole(_file(database), held.model_dump_json())
    return held


class MirroredRegistry(Registry):
    """The registry in a database of MLflow's, which is loaded only for what the `Mirror` does not hold."""

    def __init__(self, database: Path) -> None:
        self._database = database

    @property
    def _whole(self) -> Registry:
        from bife_tasks.registry.mlflow_registry import IN_MLFLOW

        return IN_MLFLOW

    def _mirror(self) -> Mirror:
        return mirrored(self._database) or mirror(self._database, self._whole)

    def versions(self, name: str | None = None, sha: str | None = None) -> list[RegisteredRule]:
        """Return all versions, or those of a name and hash, as far as they are mirrored with evidence."""
        if (name, sha) != (None, None):
            return self._whole.versions(name, sha)
        return [*self._mirror().versions]

    def find(self, name: str, which: str | int) -> RegisteredRule | None:
        """Return the version that holds an alias, or has a number; None if there is none."""
        return self._mirror().find(name, which) or self._whole.find(name, which)

    def text(self, version: RegisteredRule) -> str:
        """Return the text of the method that a version holds."""
        return self._mirror().texts.get(version.reference) or self._whole.text(version)

    def held(self, name: str) -> AbstractContextManager[None]:
        """Hold the claim of the home's store on the registry."""
        return self._whole.held(name)

    def located(self, evidence: Evidence) -> Evidence:
        """Return evidence that names evaluation and search by their runs."""
        return self._whole.located(evidence)

    def create(
        self, name: str, method: Method, evidence: Evidence, tags: Mapping[str, str], card: str
    ) -> int:
        """Make a version that holds a method, and return its number."""
        return self._whole.create(name, method, evidence, tags, card)

    def update(
        self, name: str, number: int, tags: Mapping[str, str], *, without: Iterable[str] = (), card: str = ""
    ) -> None:
        """Set tags of a version, take others away, and replace its card if one is given."""
        self._whole.update(name, number, tags, without=without, card=card)

    def set_alias(self, name: str, alias: str, number: int | None) -> None:
        """Give an alias to one version of a name, or to none."""
        self._whole.set_alias(name, alias, number)

    def champion_changed(self, **change: Any) -> None:
        """Emit that as an event."""
        self._whole.champion_changed(**change)
