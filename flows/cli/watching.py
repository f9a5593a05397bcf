"""What is shown while a flow runs: bars on a terminal, a line now and then anywhere else, a line per generation."""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress
from rich.text import Text

from bife_core.study import EvolutionState
from tasks.stores import Observer

_PLAIN_EVERY_S = 20.0
"""Seconds between two lines on the progress of one stage."""


class Display(Observer):
    """Shows a run on a console; a context manager that gives the screen back."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bars = Progress(
            console=console,
            refresh_per_second=2.0,  # few: solves are being timed on the same machine
            disable=not console.is_terminal,
        )
        self._bar = self._bars.add_task("starting", total=None)
        self._stage = self._step = ""
        self._notes: set[str] = set()
        self._spoke_s = time.monotonic()
        self.before_stage: Callable[[], None] = lambda: None

    def __enter__(self) -> Display:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the screen back; may be called more than once, from any thread."""
        self._bars.stop()

    def stage(self, name: str, about: str) -> None:
        """Name the stage that begins."""
        self.before_stage()
        self._stage = name
        self._say(f"{name}: {about}")
        self._begin(name)

    def activity(self, text: str) -> None:
        """Begin a step of the present stage."""
        self._begin(f"{self._stage}, {text}")

    def _begin(self, step: str) -> None:
        self._step = step
        self._bars.update(self._bar, completed=0, description=escape(step))

    def progress(self, done: int, total: int) -> None:
        """Show how far the step is, in plain output only if nothing was printed for a while."""
        self._bars.update(self._bar, completed=done, total=total)
        if not self._console.is_terminal and time.monotonic() - self._spoke_s >= _PLAIN_EVERY_S:
            self._say(f"{self._step}: {done} of {total}")

    def generation(self, state: EvolutionState) -> None:
        """Print where the search stands, or stood when an earlier run completed the generation."""
        self._say(state.sentence)
        if state.last_failure is not None and not state.replayed:
            self._say(f"last failure: {' '.join(state.last_failure.split())}")

    def note(self, text: str) -> None:
        """Print it, once."""
        if text not in self._notes:
            self._notes.add(text)
            self._console.print(Text.assemble(("note: ", "yellow"), " ".join(text.split())), soft_wrap=True)

    def _say(self, text: str) -> None:
        self._spoke_s = time.monotonic()
        self._console.print(text, markup=False, soft_wrap=True)
