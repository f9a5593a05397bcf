"""The directory that all runs of one user share: instances, decisions, files of runs, and the store of all records."""

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from bife_core.base.errors import ConfigError
from bife_core.base.files import make_private
from bife_core.base.places import home

if TYPE_CHECKING:
    from bife_core.store import Store

LEAST_FREE_MB = 100.0
"""Megabytes on disk below which no run begins."""

RECORD = "evaluation.json"
"""The file that says that an evaluation was made."""

RUN_ID = re.compile(r"(?:runs:/)?([0-9a-f]{32})")
"""A run of a tracker, as a person gives it."""


@dataclass(frozen=True)
class Home:
    """The directory all runs of one user share; `root` is absolute and may not exist yet."""

    root: Path

    @property
    def instances(self) -> Path:
        """Generated instances, cached by content."""
        return self._directory("instances")

    @property
    def decisions(self) -> Path:
        """Recorded strong-branching decisions."""
        return self._directory("decisions")

    @property
    def runs(self) -> Path:
        """One directory per search, collection, tuning and evaluation, named by its key."""
        return self._directory("runs")

    @property
    def first_rules(self) -> Path:
        """The rules that a run began its search with."""
        return self._directory("first_rules")

    @property
    def prefect(self) -> Path:
        """Database and profiles of the embedded Prefect API."""
        return self.root / "prefect"

    @property
    def store(self) -> Store:
        """The store of the home, or the database that ``BIFE_STORE`` names; a process opens it once."""
        return _opened(self.stored_at)

    @property
    def stored_at(self) -> str:
        """Where the store is."""
        return os.environ.get("BIFE_STORE") or str(self.root)

    @property
    def free_mb(self) -> float:
        """Megabytes that are free where the home lies, which must exist."""
        return shutil.disk_usage(self.root).free / 1e6

    def sizes_mb(self) -> dict[str, float]:
        """Return the megabytes that each file and folder of the home takes, largest first."""
        sizes = {path.name: megabytes(path) for path in self.root.glob("*")}
        return dict(sorted(sizes.items(), key=lambda entry: -entry[1]))

    def evaluations(self) -> list[Path]:
        """Return the folders of evaluations, the newest last."""
        records = self.runs.glob(f"evaluation-*/{RECORD}")
        return [path.parent for path in sorted(records, key=lambda path: path.stat().st_mtime_ns)]

    @property
    def lack_of_room(self) -> str:
        """A sentence if the disk of the home, which must exist, is all but full; empty otherwise."""
        if (free_mb := self.free_mb) >= LEAST_FREE_MB:
            return ""
        return (
            f"Only {free_mb:.0f} MB are free where BiFE's home {self.root} lies, and a run needs "
            f"{LEAST_FREE_MB:.0f} MB to begin; make room, or set BIFE_HOME to another disk."
        )

    def require_room(self) -> None:
        """Raise `ConfigError` if the home cannot be written to or its disk is all but full."""
        _ = self.runs
        if lack := self.lack_of_room:
            raise ConfigError(lack)

    def _directory(self, name: str) -> Path:
        path = self.root / name
        try:
            make_private(path)
        except OSError as error:
            raise ConfigError(
                f"BiFE's home {self.root} cannot be written to ({error.strerror or error}); "
                "set BIFE_HOME to a directory of yours."
            ) from error
        return path


@lru_cache(maxsize=4)
def _opened(where: str) -> Store:
    from bife_core.store import Store  # which takes longer than all else here

    return Store(where)


def megabytes(path: Path) -> float:
    """Return how much a file takes, or a folder with all below it."""
    size = 0
    for file in [path] if path.is_file() else path.rglob("*"):
        with suppress(OSError):  # gone meanwhile
            size += file.lstat().st_size
    return size / 1e6


def project_home() -> Home:
    """Return the home in use: ``BIFE_HOME``, or the platform's directory for user data."""
    return Home(home())


def evaluation_at(path: Path) -> Path:
    """Return the folder of an evaluation, or of its record; a `ConfigError` says if no record lies there."""
    folder = path.parent if path.is_file() else path
    if not (folder / RECORD).is_file():
        raise ConfigError(f"{folder / RECORD} is missing; give the id of an evaluation's run.")
    return folder
