import io
import time
from decimal import Decimal

import pytest
from rich.console import Console

from bife_core.cli import watching as module
from bife_core.cli.consoles import number
from bife_core.cli.watching import Display
from bife_core.run.estimate import Estimate
from bife_core.run.study import SearchState
from bife_core.search.generators import Spending

USD = Decimal("0.0123")


def state(generation=0, **changes):
    values = {
        "generation": generation, "samples": 4, "failures": 1, "solved": 2,
        "samples_total": 16 + 4 * generation, "budget": 100, "best_f_lf": 0.35312, "best_f_hf": -1.35741,
        "n_elites": 4, "tau": 0.2871, "failures_total": 2, "eliminated": 5,
        "last_failure": "Line 3: a rule may\nimport numpy and math only, not [os].",
        "spending": Spending(calls=16, prompt_tokens=12000, completion_tokens=3456, cost_usd=USD),
        "elapsed_s": 75.0, "remaining_s": 4000.0,
    }  # fmt: skip
    return SearchState(**(values | changes))


def test_plain_output_is_one_line_a_generation_without_control_codes():
    console = Console(file=io.StringIO(), width=60)
    with Display(console) as display:
        display.stage("search", "100 samples by [openai]")
        display.activity("sampling 4 rules")
        display.progress(1, 4)
        display.generation(state(3))
        display.note("Printed\nonce.")
        display.note("Printed\nonce.")
        display.close()
    assert console.file.getvalue().splitlines() == [
        "search: 100 samples by [openai]",
        "generation 3: samples 28/100, best F_LF 0.353, best F_HF -1.357, elites 4, tau 0.287, eliminated 5, "
        "failures 2, tokens 15,456, cost $0.01, time 0:01:15, left 1:06:40",
        "last failure: Line 3: a rule may import numpy and math only, not [os].",
        "note: Printed once.",
    ]


def test_a_generation_says_what_is_known_what_is_to_beat_and_whether_it_is_of_an_earlier_run():
    others = {"RPB": -2.5, "SCIP default settings": -9.81234}
    text = state(references=others).sentence
    assert "best F_HF -1.357, F_HF of RPB -2.5, F_HF of SCIP default settings -9.812, elites 4" in text
    unknown = dict.fromkeys(("best_f_lf", "best_f_hf", "tau"))
    text = state(eliminated=0, spending=Spending(), remaining_s=0.0, **unknown).sentence
    assert text == "generation 0: samples 16/100, elites 4, failures 2, time 0:01:15"
    earlier = state(3, replayed=True).sentence
    assert earlier.startswith("generation 3 (earlier run): samples 28/100")
    assert earlier.endswith("time 0:01:15"), "nothing of what is left"


def test_plain_output_breaks_a_long_silence(monkeypatch):
    console = Console(file=io.StringIO())
    display = Display(console)
    display.stage("collection", "150 decisions")
    display.progress(25, 150)
    now = time.monotonic()
    monkeypatch.setattr(module.time, "monotonic", lambda: now + 21.0)
    display.activity("solving")
    display.progress(50, 150)
    display.progress(75, 150)
    lines = ["collection: 150 decisions", "collection, solving: 50 of 150"]
    assert console.file.getvalue().splitlines() == lines


def test_what_is_left_is_that_of_all_stages(monkeypatch):
    console = Console(file=io.StringIO())
    display = Display(console)
    stages = (("collection", 120.0), ("search", 600.0), ("evaluation", 300.0))
    display.expect(Estimate(stages=stages, cores=1))
    display.stage("search", "100 samples")
    now = time.monotonic()
    monkeypatch.setattr(module.time, "monotonic", lambda: now + 240.0)
    display.activity("sampling 4 rules")
    display.progress(1, 4)
    display.generation(state(3))
    display.generation(state(3, replayed=True))
    display.stage("ablation", "what each group brought")
    display.stage("evaluation", "20 instances")
    for seconds, done in ((900.0, 1), (1000.0, 2), (2880.0, 4)):
        monkeypatch.setattr(module.time, "monotonic", lambda seconds=seconds: now + seconds)
        display.progress(done, 4)
    lines = console.file.getvalue().splitlines()
    assert [line.rpartition(", ")[2] for line in lines if "left in all" in line] == [
        "about 11 min left in all",
        "about 15 min left in all",  # 28 of 100 rules took four minutes
        "about 33 min left in all",  # a quarter took 660 s, more than the estimate of the stage
        "about 13 min left in all",
        "less than 1 min left in all",
    ]


def test_what_is_left_grows_by_what_other_load_cost_and_then_falls(monkeypatch):
    display = Display(Console(file=io.StringIO()))
    stages = (("tuning", 120.0), ("search", 600.0), ("evaluation", 300.0))
    display.expect(Estimate(stages=stages, cores=1))
    now, left = time.monotonic(), []
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    for seconds, stage in ((0.0, "tuning"), (360.0, "search"), (4000.0, "evaluation")):
        now += seconds
        display.stage(stage, "it takes three times as long")
        left.append(display._left())
    assert left == [f"about {minutes} min left in all" for minutes in (17, 25, 5)]


def test_a_terminal_gets_a_bar_below_the_lines_and_its_cursor_back():
    console = Console(file=io.StringIO(), force_terminal=True, width=110, highlight=False)
    with Display(console) as display:
        display.expect(Estimate(stages=(("search", 600.0),), cores=1))
        display.stage("search", "100 samples by openai")
        display.activity("solving 6 instances")
        display.progress(1, 3)
        display.generation(state(0))
    written = console.file.getvalue()
    for text in ("solving 6 instances", "33%", "about 8 min left in all", "generation 0: "):
        assert text in written
    assert written.endswith("\x1b[?25h")


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (0.0, "0"), (1120.0, "1120"), (1e20, "1e+20"), (8966406.49, "8966406.49")],
)
def test_numbers_keep_their_digits(value, text):
    assert number(value, 10) == text
