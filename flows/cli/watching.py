"""What is shown while a flow runs: a live table on a terminal, plain lines anywhere else."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from bife_core.study import EvolutionState
from flows.cli.consoles import duration, number, say
from flows.reporting.observer import Observer

_REFRESH_PER_S = 2.0
"""Few: solves are being timed on the same machine."""
_GENERATIONS_SHOWN = 12
_PLAIN_EVERY_S = 20.0
"""Seconds between two lines on the progress of one stage."""


@dataclass
class _Stage:
    """What runs, or has run, how far its present step is, and how long that may still take."""

    name: str
    about: str
    began_s: float = field(default_factory=time.monotonic)
    took_s: float | None = None
    activity: str = ""
    done: int = 0
    total: int | None = None
    left_s: float | None = None
    _first: tuple[float, int] | None = None

    def begin(self, activity: str) -> None:
        """Begin a step."""
        self.activity, self.done, self.total, self.left_s, self._first = activity, 0, None, None, None

    def reach(self, done: int, total: int) -> None:
        """Take note how far the step is; what was done before the first report says nothing of its pace."""
        now = time.monotonic()
        if self._first is None or done < self._first[1]:
            self._first = (now, done)
        began_s, before = self._first
        pace_s = (now - began_s) / (done - before) if done > before else None
        self.done, self.total = done, total
        self.left_s = None if pace_s is None else pace_s * (total - done)


class Display(Observer):
    """Keeps what is known of the stages for those who show it; passes notes on, each once."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._stages = [_Stage("starting", "")]
        self._notes: set[str] = set()

    def stage(self, name: str, about: str) -> None:
        """Tick off the former stage and begin this one."""
        self._tick_off()
        self._stages.append(_Stage(name, about))

    def progress(self, done: int, total: int) -> None:
        """Keep how far the present step is and how long it may still take."""
        self._stages[-1].reach(done, total)

    def activity(self, text: str) -> None:
        """Begin a step of the present stage."""
        self._stages[-1].begin(text)

    def note(self, text: str) -> None:
        """Print it, once."""
        if text not in self._notes:
            self._notes.add(text)
            self._console.print(Text.assemble(("note: ", "yellow"), one_line(text)), soft_wrap=True)

    def close(self) -> None:
        """Give the screen back, if it is held; may be called more than once, from any thread."""

    def _tick_off(self) -> None:
        last = self._stages[-1]
        last.took_s, last.activity = time.monotonic() - last.began_s, ""


@contextmanager
def watching(console: Console) -> Iterator[Display]:
    """Yield the observer that fits where `console` writes to."""
    if not console.is_terminal:
        yield PlainDisplay(console)
        return
    with LiveDisplay(console) as watcher:
        yield watcher


class PlainDisplay(Display):
    """Writes a line when a stage begins, when a generation is complete, and now and then in between."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._spoke_s = time.monotonic()

    def stage(self, name: str, about: str) -> None:
        """Name the stage that begins."""
        super().stage(name, about)
        self._say(f"{name}: {about}")

    def progress(self, done: int, total: int) -> None:
        """Say how far the stage is and how long it may still take, if nothing has been said for a while."""
        super().progress(done, total)
        stage = self._stages[-1]
        if time.monotonic() - self._spoke_s >= _PLAIN_EVERY_S:
            step = ", ".join(filter(None, (stage.name, stage.activity)))
            left = f", about {duration(stage.left_s)} left" if stage.left_s else ""
            self._say(f"{step}: {done} of {total}{left}")

    def generation(self, state: EvolutionState) -> None:
        """Write the table's row as a line."""
        known = [f"{name} {text}" for name, text in cells(state).items() if text != "-" and name != "gen"]
        self._say(f"generation {state.generation}: {', '.join(known)}")
        if state.last_failure is not None:
            self._say(f"last failure: {one_line(state.last_failure)}")

    def _say(self, text: str) -> None:
        self._spoke_s = time.monotonic()
        say(self._console, text)


class LiveDisplay(Display):
    """Redraws a table of generations and a line per stage in place; a context manager."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._states: list[EvolutionState] = []
        self._spinner = Spinner("dots")
        self._live = Live(console=console, refresh_per_second=_REFRESH_PER_S, get_renderable=self.render)

    def __enter__(self) -> LiveDisplay:
        self._live.start(refresh=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._tick_off()
        self.close()

    def close(self) -> None:
        """Leave the last picture where it is."""
        self._live.stop()

    def stage(self, name: str, about: str) -> None:
        """Begin a line for this stage; that of the start is of interest while it lasts."""
        super().stage(name, about)
        self._stages = [stage for stage in self._stages if stage.about]

    def generation(self, state: EvolutionState) -> None:
        """Add a row to the table."""
        self._states.append(state)

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
        for stage in list(self._stages):
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


def cells(state: EvolutionState) -> dict[str, str]:
    """Return a generation's row by column; a dash stands for what is unknown."""
    spent = state.spending
    tokens = spent.prompt_tokens + spent.completion_tokens
    return {
        "gen": str(state.generation),
        "samples": f"{state.samples_total}/{state.budget}",
        "best F_LF": number(state.best_f_lf, 3),
        "best F_HF": number(state.best_f_hf),
        "elites": str(state.n_elites),
        "tau": number(state.tau, 3),
        "lost races": str(state.eliminated or "-"),
        "load": "-" if state.load_factor is None else f"{state.load_factor:.2f}",
        "fails": str(state.failures_total),
        "tokens": f"{tokens:,}" if tokens else "-",
        "cost": "-" if spent.cost_usd is None else f"${spent.cost_usd:.2f}",
        "time": duration(state.elapsed_s),
        "left": duration(state.remaining_s) if state.remaining_s > 0 else "-",
    }


def generation_table(states: list[EvolutionState]) -> Table:
    """Return the generations as a table, oldest first; columns of which nothing is known are left out."""
    rows = [cells(state) for state in states]
    known = [name for name in rows[0] if any(row[name] != "-" for row in rows)]
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    for name in known:
        table.add_column(name.replace(" ", "\n"), justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*(row[name] for name in known))
    return table


def one_line(text: str) -> str:
    """Return a text without line breaks."""
    return " ".join(text.split())
