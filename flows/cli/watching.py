"""What is shown while a flow runs: a live table on a terminal, plain lines anywhere else."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table
from rich.text import Text

from flows.cli.consoles import duration, number
from flows.observer import EvolutionState, Observer

_REFRESH_PER_S = 2.0
"""Few: solves are being timed on the same machine."""
_GENERATIONS_SHOWN = 12
_PLAIN_EVERY_S = 20.0
"""Seconds between two lines on the progress of one stage."""


@contextmanager
def watching(console: Console) -> Iterator[Observer]:
    """Yield the observer that fits where `console` writes to."""
    if not console.is_terminal:
        yield PlainWatcher(console)
        return
    watcher = LiveWatcher(console)
    with watcher:
        yield watcher


class PlainWatcher:
    """Writes a line when a stage begins, when a generation is complete, and now and then in between."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._stage = ""
        self._spoke_s = time.monotonic()
        self._notes: set[str] = set()

    def stage(self, name: str, about: str) -> None:
        """Name the stage that begins."""
        self._stage = name
        self._say(f"{name}: {about}")

    def progress(self, done: int, total: int) -> None:
        """Say how far the stage is, if nothing has been said for a while."""
        if time.monotonic() - self._spoke_s >= _PLAIN_EVERY_S:
            self._say(f"{self._stage}: {done} of {total}")

    def activity(self, text: str) -> None:
        """Say nothing: the generation that follows tells more."""

    def generation(self, state: EvolutionState) -> None:
        """Write the table's row as a line."""
        parts = [
            f"{name} {text}" for name, text in zip(COLUMNS[1:], cells(state)[1:], strict=True) if text != "-"
        ]
        self._say(f"generation {state.generation}: {', '.join(parts)}")
        if state.last_failure is not None:
            self._say(f"last failure: {one_line(state.last_failure)}")

    def note(self, text: str) -> None:
        """Pass it on, once."""
        if text not in self._notes:
            self._notes.add(text)
            self._say(f"note: {one_line(text)}")

    def _say(self, text: str) -> None:
        self._spoke_s = time.monotonic()
        self._console.print(text, markup=False, soft_wrap=True)


class LiveWatcher:
    """Redraws a table of generations and a progress bar in place; a context manager."""

    def __init__(self, console: Console) -> None:
        self._states: list[EvolutionState] = []
        self._notes: set[str] = set()
        self._progress = Progress(
            SpinnerColumn(finished_text="[green]✓"),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("[dim]{task.fields[activity]}"),
            console=console,
        )
        self._live = Live(
            console=console, refresh_per_second=_REFRESH_PER_S, get_renderable=self._render, transient=False
        )

    def __enter__(self) -> LiveWatcher:
        self._live.start(refresh=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._finish()
        self._live.stop()

    def stage(self, name: str, about: str) -> None:
        """Tick off the former stage and show a bar for this one."""
        self._finish()
        self._progress.add_task(f"[bold]{name}[/]  {about}", total=None, activity="")

    def progress(self, done: int, total: int) -> None:
        """Move the present bar."""
        for task in self._progress.task_ids[-1:]:
            self._progress.update(task, completed=done, total=total)

    def activity(self, text: str) -> None:
        """Name the present step beside a bar of its own."""
        for task in self._progress.task_ids[-1:]:
            self._progress.update(task, activity=text, completed=0, total=None)

    def generation(self, state: EvolutionState) -> None:
        """Add a row to the table."""
        self._states.append(state)

    def note(self, text: str) -> None:
        """Print it above, once."""
        if text not in self._notes:
            self._notes.add(text)
            self._live.console.print(Text.assemble(("note: ", "yellow"), one_line(text)))

    def _finish(self) -> None:
        for task in self._progress.tasks[-1:]:
            total = task.total or max(task.completed, 1)
            self._progress.update(task.id, total=total, completed=total, activity="")

    def _render(self) -> RenderableType:
        parts: list[RenderableType] = []
        if self._states:
            parts.append(generation_table(self._states[-_GENERATIONS_SHOWN:]))
            failure = self._states[-1].last_failure
            if failure is not None:
                parts.append(
                    Text(f"last failure: {one_line(failure)}", style="dim", overflow="ellipsis", no_wrap=True)
                )
        return Group(*parts, self._progress)


COLUMNS = (
    "gen",
    "samples",
    "best F_LF",
    "best F_HF",
    "elites",
    "tau",
    "failures",
    "tokens",
    "cost",
    "elapsed",
    "left",
)


def cells(state: EvolutionState) -> tuple[str, ...]:
    """Return a generation's row, one text per name in `COLUMNS`; a dash stands for what is unknown."""
    spent = state.spending
    tokens = spent.prompt_tokens + spent.completion_tokens
    return (
        str(state.generation),
        f"{state.samples}/{state.budget}",
        number(state.best_f_lf, 3),
        number(state.best_f_hf),
        str(state.elites),
        number(state.tau, 3),
        str(state.failures),
        f"{tokens:,}" if tokens else "-",
        "-" if spent.cost_usd is None else f"${spent.cost_usd:.4f}",
        duration(state.elapsed_s),
        duration(state.remaining_s) if state.remaining_s > 0 else "-",
    )


def generation_table(states: list[EvolutionState]) -> Table:
    """Return the generations as a table, oldest first."""
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for name in COLUMNS:
        table.add_column(name.replace(" ", "\n"), justify="right", no_wrap=True)
    for state in states:
        table.add_row(*cells(state))
    return table


def one_line(text: str) -> str:
    """Return a text without line breaks."""
    return " ".join(text.split())
