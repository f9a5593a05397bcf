"""What is shown while a flow runs: a live table on a terminal, plain lines anywhere else."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from bife_core.evolution import EvolutionState
from flows.cli.consoles import duration, number
from flows.operate.observer import Observer

_REFRESH_PER_S = 2.0
"""Few: solves are being timed on the same machine."""
_GENERATIONS_SHOWN = 12
_PLAIN_EVERY_S = 20.0
"""Seconds between two lines on the progress of one stage."""


class Watcher(Observer, Protocol):
    """An observer that may hold the screen."""

    def close(self) -> None:
        """Give the screen back; may be called more than once, from any thread."""
        ...


@contextmanager
def watching(console: Console) -> Iterator[Watcher]:
    """Yield the observer that fits where `console` writes to."""
    if not console.is_terminal:
        yield PlainWatcher(console)
        return
    with LiveWatcher(console) as watcher:
        yield watcher


class Pace:
    """How fast a step goes, from what is reported of it; what was done before the first report counts for nothing."""

    def __init__(self) -> None:
        self._first: tuple[float, int] | None = None

    def left_s(self, done: int, total: int) -> float | None:
        """Return a guess at the seconds to come, or None as long as there is nothing to guess from."""
        now = time.monotonic()
        if self._first is None or done < self._first[1]:
            self._first = (now, done)
        began_s, before = self._first
        return (now - began_s) / (done - before) * (total - done) if done > before else None


class PlainWatcher:
    """Writes a line when a stage begins, when a generation is complete, and now and then in between."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._name = self._step = ""
        self._pace = Pace()
        self._spoke_s = time.monotonic()
        self._notes: set[str] = set()

    def stage(self, name: str, about: str) -> None:
        """Name the stage that begins."""
        self._step = name
        self._name = name
        self._pace = Pace()
        self._say(f"{name}: {about}")

    def progress(self, done: int, total: int) -> None:
        """Say how far the stage is and how long it may still take, if nothing has been said for a while."""
        left = self._pace.left_s(done, total)
        if time.monotonic() - self._spoke_s >= _PLAIN_EVERY_S:
            self._say(f"{self._step}: {done} of {total}" + (f", about {duration(left)} left" if left else ""))

    def activity(self, text: str) -> None:
        """Keep it for the next line on progress."""
        self._step = f"{self._name}, {text}"
        self._pace = Pace()

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

    def close(self) -> None:
        """Do nothing: lines hold no screen."""

    def _say(self, text: str) -> None:
        self._spoke_s = time.monotonic()
        self._console.print(text, markup=False, soft_wrap=True)


@dataclass
class _Stage:
    """A line under the table: what runs, or has run, and how far it is."""

    name: str
    about: str
    began_s: float
    done: int = 0
    total: int | None = None
    activity: str = ""
    took_s: float | None = None
    left_s: float | None = None
    pace: Pace = field(default_factory=Pace)


class LiveWatcher:
    """Redraws a table of generations and a line per stage in place; a context manager."""

    def __init__(self, console: Console) -> None:
        self._stages = [_Stage("starting", "", time.monotonic())]
        self._states: list[EvolutionState] = []
        self._notes: set[str] = set()
        self._spinner = Spinner("dots")
        self._live = Live(console=console, refresh_per_second=_REFRESH_PER_S, get_renderable=self.render)

    def __enter__(self) -> LiveWatcher:
        self._live.start(refresh=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._tick_off()
        self.close()

    def close(self) -> None:
        """Leave the last picture where it is."""
        self._live.stop()

    def stage(self, name: str, about: str) -> None:
        """Tick off the former stage and begin a line for this one."""
        self._tick_off()
        former = [stage for stage in self._stages if stage.about]  # the start is of interest while it lasts
        self._stages = [*former, _Stage(name, about, time.monotonic())]

    def progress(self, done: int, total: int) -> None:
        """Move the present bar."""
        stage = self._stages[-1]
        stage.done, stage.total, stage.left_s = done, total, stage.pace.left_s(done, total)

    def activity(self, text: str) -> None:
        """Name the present step and give it the bar."""
        stage = self._stages[-1]
        stage.activity, stage.done, stage.total = text, 0, None
        stage.left_s, stage.pace = None, Pace()

    def generation(self, state: EvolutionState) -> None:
        """Add a row to the table."""
        self._states.append(state)

    def note(self, text: str) -> None:
        """Print it above, once."""
        if text not in self._notes:
            self._notes.add(text)
            self._live.console.print(Text.assemble(("note: ", "yellow"), one_line(text)))

    def _tick_off(self) -> None:
        last = self._stages[-1]
        last.took_s, last.activity = time.monotonic() - last.began_s, ""

    def render(self) -> RenderableType:
        """Return what is on the screen now."""
        parts: list[RenderableType] = []
        if self._states:
            parts.append(generation_table(self._states[-_GENERATIONS_SHOWN:]))
            failure = self._states[-1].last_failure
            if failure is not None:
                text = f"last failure: {one_line(failure)}"
                parts.append(Text(text, style="dim", overflow="ellipsis", no_wrap=True))
        lines = Table.grid(padding=(0, 1))
        for stage in self._stages:
            lines.add_row(*self._line(stage))
        return Group(*parts, lines)

    def _line(self, stage: _Stage) -> tuple[RenderableType, ...]:
        name = Text.assemble((stage.name, "bold"), f"  {stage.about}")
        if stage.took_s is not None:
            return Text("✓", style="green"), name, Text(duration(stage.took_s), justify="right"), ""
        took = Text(duration(time.monotonic() - stage.began_s), justify="right")
        if stage.total is None:
            return self._spinner, name, took, Text(stage.activity, style="dim")
        left = f", {duration(stage.left_s)} left" if stage.left_s else ""
        step = Text(f"{stage.done}/{stage.total} {stage.activity}".rstrip() + left, style="dim")
        bar = Table.grid(padding=(0, 1))
        bar.add_row(ProgressBar(stage.total, stage.done, width=20), step)
        return self._spinner, name, took, bar


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
        f"{state.sampled}/{state.budget}",
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
    """Return the generations as a table, oldest first; columns of which nothing is known are left out."""
    columns = zip(COLUMNS, *map(cells, states), strict=True)
    known = [column for column in columns if set(column[1:]) != {"-"}]
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    for name, *_ in known:
        table.add_column(name.replace(" ", "\n"), justify="right", no_wrap=True)
    for row in zip(*(column[1:] for column in known), strict=True):
        table.add_row(*row)
    return table


def one_line(text: str) -> str:
    """Return a text without line breaks."""
    return " ".join(text.split())
