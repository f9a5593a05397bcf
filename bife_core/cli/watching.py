"""What is shown while a stage runs: bars on a terminal, a line now and then anywhere else, a line per generation."""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, Task, TextColumn
from rich.text import Text

from bife_core.run.estimate import Estimate, Pace
from bife_core.run.observer import Observer
from bife_core.run.study import SearchState

_PLAIN_EVERY_S = 20.0  # seconds between two lines on the progress of one stage


class _Left(TextColumn):
    """A column with what is left at the moment it is drawn."""

    def render(self, task: Task) -> Text:
        """Return what is left."""
        return Text(task.fields["left"]())


class Display(Observer):
    """Shows a run on a console; a context manager that gives the screen back."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bars = Progress(
            *Progress.get_default_columns()[:3],  # not the time that a step will take
            _Left(""),
            console=console,
            refresh_per_second=2.0,  # few: solves are being timed on the same machine
            disable=not console.is_terminal,
        )
        self._later: Estimate | None = None  # of the stages after the present one
        self._pace = Pace(0.0, 0.0)
        # Wall seconds of stages that ended, but searches, and their estimate.
        self._ended_s = self._expected_s = 0.0
        self._in_steps = False
        self._bar = self._bars.add_task("starting", total=None, left=self._left)
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
        now = time.monotonic()
        if self._stage != "search":  # which may have waited for a model
            self._expected_s += self._pace.expected_s
            self._ended_s += (now - self._pace.began_s) * bool(self._pace.expected_s)
        self._stage = name
        self._say(f"{name}: {about}")
        expected_s, self._in_steps = 0.0, False
        if self._later is not None:
            expected_s, self._later = self._later.begin(name)
        self._pace = Pace(expected_s, now)
        self._begin(name)

    def expect(self, estimate: Estimate) -> None:
        """Show from now on what is left of the run."""
        self._later = estimate

    def _left(self) -> str:
        """Return what is left of all stages, empty where that is not known."""
        if self._later is None:
            return ""
        # Beside other load later stages take that much longer too.
        slower = max(self._ended_s / self._expected_s, 1.0) if self._expected_s else 1.0
        minutes = (slower * self._later.left_s + self._pace.left_s(time.monotonic())) / 60
        return f"{f'about {minutes:.0f}' if minutes >= 1 else 'less than 1'} min left in all"

    def activity(self, text: str) -> None:
        """Begin a step of the present stage, one of an unknown number."""
        self._in_steps = True
        self._begin(f"{self._stage}, {text}")

    def _begin(self, step: str) -> None:
        self._step = step
        self._bars.update(self._bar, completed=0, description=escape(step))

    def progress(self, done: int, total: int) -> None:
        """Show how far the step is, in plain output only if nothing was printed for a while.

        A stage without steps is itself that far.
        """
        if not self._in_steps and total:
            self._pace.reached(done / total, time.monotonic())
        self._bars.update(self._bar, completed=done, total=total)
        if not self._console.is_terminal and time.monotonic() - self._spoke_s >= _PLAIN_EVERY_S:
            self._say(f"{self._step}: {done} of {total}", self._left())

    def generation(self, state: SearchState) -> None:
        """Print where the search stands, or stood when an earlier run completed the generation."""
        self._pace.reached(min(state.samples_total / state.budget, 1.0), time.monotonic(), state.replayed)
        self._say(state.sentence, "" if state.replayed else self._left())
        if state.last_failure is not None and not state.replayed:
            self._say(f"last failure: {' '.join(state.last_failure.split())}")

    def note(self, text: str) -> None:
        """Print it, once."""
        if text not in self._notes:
            self._notes.add(text)
            self._console.print(Text.assemble(("note: ", "yellow"), " ".join(text.split())), soft_wrap=True)

    def _say(self, *parts: str) -> None:
        self._spoke_s = time.monotonic()
        self._console.print(", ".join(filter(None, parts)), markup=False, soft_wrap=True)
