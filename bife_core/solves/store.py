"""Finished solves on disk."""

from __future__ import annotations

from pathlib import Path

from bife_core.files import write_whole
from bife_core.solves.jobs import SolveOutcome


class SolveStore:
    """Finished solves by key, one JSON file each.

    Parameters
    ----------
    directory : Path
        Made when the first solve is stored.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def path_of(self, key: str) -> Path:
        """Return where the outcome of a key lies once it is stored."""
        return self.directory / key[:2] / f"{key}.json"

    def get(self, key: str) -> SolveOutcome | None:
        """Return a stored outcome, or None. A file that cannot be read counts as none and is written anew."""
        try:
            return SolveOutcome.model_validate_json(self.path_of(key).read_text())
        except (FileNotFoundError, ValueError):
            return None

    def put(self, key: str, outcome: SolveOutcome) -> None:
        """Store an outcome at once or not at all."""
        write_whole(self.path_of(key), outcome.model_dump_json())
