import io
import time
from decimal import Decimal

import pytest
from rich.console import Console

from bife_core.generators import Spending
from bife_core.study import EvolutionState
from flows.cli import watching as module
from flows.cli.consoles import duration, number
from flows.cli.watching import LiveDisplay, PlainDisplay, cells, watching


def state(generation=0, **changes):
    known = {
        "generation": generation,
        "samples": 4,
        "failures": 1,
        "solved": 2,
        "samples_total": 16 + 4 * generation,
        "budget": 100,
        "best_f_lf": 0.35312,
        "best_f_hf": -1.35741,
        "n_elites": 4,
        "tau": 0.2871,
        "failures_total": 2,
        "eliminated": 5,
        "load_factor": 1.037,
        "last_failure": "Line 3: a rule may\nimport numpy and math only, not os.",
        "spending": Spending(
            calls=16, prompt_tokens=12000, completion_tokens=3456, cost_usd=Decimal("0.0123")
        ),
        "elapsed_s": 75.0,
        "remaining_s": 4000.0,
    }
    return EvolutionState(**(known | changes))


def terminal():
    return Console(file=io.StringIO(), force_terminal=True, width=110, height=40)


def text_of(watcher):
    console = Console(file=io.StringIO(), width=110)
    console.print(watcher.render())
    return console.file.getvalue()


def test_a_row_holds_what_the_table_promises():
    assert cells(state()) == {
        "gen": "0",
        "samples": "16/100",
        "best F_LF": "0.353",
        "best F_HF": "-1.357",
        "elites": "4",
        "tau": "0.287",
        "lost races": "5",
        "load": "1.04",
        "fails": "2",
        "tokens": "15,456",
        "cost": "$0.01",
        "time": "1:15",
        "left": "1:06:40",
    }


def test_what_is_unknown_is_a_dash():
    row = cells(
        state(
            best_f_lf=None,
            best_f_hf=None,
            tau=None,
            eliminated=0,
            load_factor=None,
            spending=Spending(),
            remaining_s=0.0,
        )
    )
    assert {name for name, text in row.items() if text == "-"} == {
        "best F_LF",
        "best F_HF",
        "tau",
        "lost races",
        "load",
        "tokens",
        "cost",
        "left",
    }


def test_plain_output_is_one_line_a_generation_without_control_codes():
    console = Console(file=io.StringIO(), width=60)
    with watching(console) as watcher:
        watcher.stage("evolution", "100 samples by openai")
        watcher.activity("sampling 4 rules")
        watcher.progress(1, 4)
        watcher.generation(state(3))
        watcher.note("Twice\ntold.")
        watcher.note("Twice\ntold.")
        watcher.close()
    lines = console.file.getvalue().splitlines()
    assert lines == [
        "evolution: 100 samples by openai",
        "generation 3: samples 28/100, best F_LF 0.353, best F_HF -1.357, elites 4, tau 0.287, lost races 5, "
        "load 1.04, fails 2, tokens 15,456, cost $0.01, time 1:15, left 1:06:40",
        "last failure: Line 3: a rule may import numpy and math only, not os.",
        "note: Twice told.",
    ]


def test_plain_output_breaks_a_long_silence(monkeypatch):
    console = Console(file=io.StringIO())
    watcher = PlainDisplay(console)
    watcher.stage("collection", "150 decisions")
    watcher.progress(25, 150)
    now = time.monotonic()
    monkeypatch.setattr(module.time, "monotonic", lambda: now + 21.0)
    watcher.progress(50, 150)
    watcher.progress(75, 150)
    watcher.stage("evolution", "16 samples")
    watcher.activity("solving 6 instances with 3 rules")
    monkeypatch.setattr(module.time, "monotonic", lambda: now + 50.0)
    watcher.progress(1, 3)
    assert console.file.getvalue().splitlines() == [
        "collection: 150 decisions",
        "collection: 50 of 150, about 1:24 left",
        "evolution: 16 samples",
        "evolution, solving 6 instances with 3 rules: 1 of 3",
    ]


def test_a_terminal_gets_a_table_and_a_line_per_stage():
    console = terminal()
    with watching(console) as watcher:
        assert isinstance(watcher, LiveDisplay)
        assert "starting" in text_of(watcher)
        watcher.stage("collection", "150 decisions")
        watcher.progress(150, 150)
        watcher.stage("evolution", "100 samples by openai")
        watcher.activity("solving 6 instances with 3 rules")
        watcher.progress(1, 3)
        watcher.generation(state(0))
        watcher.generation(state(1))
        shown = text_of(watcher)
        watcher.note("A folder's models are few.")
    assert "starting" not in shown
    assert "✓ collection  150 decisions" in shown
    assert "1/3 solving 6 instances with 3 rules" in shown
    assert [line.split()[:2] for line in shown.splitlines() if "/100" in line] == [
        ["0", "16/100"],
        ["1", "20/100"],
    ]
    assert "last failure: Line 3: a rule may import numpy and math only, not os." in shown
    written = console.file.getvalue()
    assert "A folder's models are few." in written
    assert written.endswith("\x1b[?25h")  # the cursor is visible again


def test_the_table_keeps_to_the_latest_generations():
    watcher = LiveDisplay(terminal())
    for generation in range(30):
        watcher.generation(state(generation))
    rows = [line.split()[0] for line in text_of(watcher).splitlines() if "/100" in line]
    assert rows == [str(generation) for generation in range(18, 30)]


def test_the_last_stage_is_ticked_off_only_after_success():
    console = terminal()
    with watching(console) as watcher:
        watcher.stage("registration", "the best rule")
    assert "✓ registration" in text_of(watcher)
    watcher = LiveDisplay(terminal())
    watcher.stage("evaluation", "2 instances")
    watcher.__exit__(ValueError, ValueError("broken"), None)
    assert "✓ evaluation" not in text_of(watcher)


def test_the_table_fits_a_small_terminal_and_leaves_out_what_is_unknown():
    watcher = LiveDisplay(terminal())
    watcher.generation(state(10))
    console = Console(file=io.StringIO(), width=80)
    console.print(watcher.render())
    assert "…" not in console.file.getvalue()
    watcher = LiveDisplay(terminal())
    watcher.generation(state(10, spending=Spending()))
    assert "tokens" not in text_of(watcher)
    assert "cost" not in text_of(watcher)


def test_markup_in_texts_is_shown_as_it_is():
    watcher = LiveDisplay(terminal())
    watcher.stage("collection", "models in [bold]odd[/bold] folder")
    watcher.generation(state(last_failure="index f[18] is [not] allowed"))
    assert "[bold]odd[/bold]" in text_of(watcher)
    assert "f[18] is [not] allowed" in text_of(watcher)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59.4, "59 s"), (59.6, "1:00"), (3599.0, "59:59"), (3600.0, "1:00:00")],
)
def test_durations_read_like_a_clock(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (0.0, "0"), (1120.0, "1120"), (1e20, "1e+20"), (8966406.49, "8966406.49")],
)
def test_numbers_keep_their_digits(value, text):
    assert number(value, 10) == text
