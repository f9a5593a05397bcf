"""The store of paid solves: on this machine, and below the storage root if there is one."""

from __future__ import annotations

from bife_core.solves import SolveOutcome, SolveStore
from tasks.home import project_home
from tasks.storage import fetch, key_of, noting_trouble, publish, storage_root


class SharedSolves(SolveStore):
    """Solves that other machines find, and find theirs: what is missing here is looked for below the root."""

    def get(self, key: str) -> SolveOutcome | None:
        """Return a stored outcome, wherever it was stored, or None."""
        found = super().get(key)
        if found is not None:
            return found
        with noting_trouble("Solves of other machines cannot be had"):
            try:
                fetch(key_of(self.path_of(key)), storage_root())
            except FileNotFoundError:
                return None
        return super().get(key)

    def put(self, key: str, outcome: SolveOutcome) -> None:
        """Store an outcome here, and for others."""
        super().put(key, outcome)
        with noting_trouble("Solves of this machine are kept from others"):
            publish(self.path_of(key), storage_root())


def solve_store() -> SolveStore:
    """Return where solves that were paid for are kept."""
    directory = project_home().solves
    return SharedSolves(directory) if storage_root() else SolveStore(directory)
