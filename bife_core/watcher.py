"""Who is shown what a run does; a module of its own, for what is shown must not wait for what is computed with."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bife_core.study import EvolutionState


class Watcher:
    """Shows what happens; this one shows nothing. It must not raise and should return at once."""

    def activity(self, text: str) -> None:
        """Show what is being done, such as "solving with 3 rules"."""

    def progress(self, done: int, total: int) -> None:
        """Show how far that is."""

    def generation(self, state: EvolutionState) -> None:
        """Show that a generation is complete."""
