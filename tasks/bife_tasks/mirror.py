"""MLflow's registry as it was last read: a file that answers without MLflow while its database is unchanged."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from bife_core.base.files import write_whole
from bife_core.base.values import Value
from bife_core.registry.base import Registry
from bife_core.registry.evidence import RegisteredRule

_TICK_S: Final = 2.0  # a database that was changed so lately may change again without another time stamp


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
