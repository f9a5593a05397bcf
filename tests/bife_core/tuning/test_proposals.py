"""What a language model proposes: each line is a choice of the table, or is left out and named."""

from __future__ import annotations

import pytest

from bife_core.measure.trials import Raced
from bife_core.solver.methods.references import load_method
from bife_core.tuning.proposals import MOST, read_configurations
from bife_core.tuning.space import Space
from bife_core.tuning.tuner import Trial

SPACE = Space({"general": load_method("general")})
LEAN = {"separating": "off", "conflict/enable": "FALSE", "branching": "general"}

LINES = """<think>heuristics = off</think>Cuts take half of the time = too much.

1. **Cheap nodes.**
- separating = off  # they bring nothing
- `conflict/enable` = false
- branching = "general"
separating/maxrounds = 7
nodes = 3

emphasis = default
"""
JSON = """```json
[
  {
    "reason": "Cheap nodes.",
    "settings": {
      "separating": "off",
      "conflict/enable": false,
      "branching": "general"
    }
  }
]
```"""


def test_lines_are_read_and_what_is_refused_is_named_with_the_reason():
    (lean, why), (usual, _) = read_configurations(LINES, SPACE)
    assert (lean, usual) == (LEAN, {})
    assert why == (
        "1. **Cheap nodes.** [left out: separating/maxrounds = 7, which is none of -1, 0, 1, 5]"
        " [left out: nodes = 3, which is no row of the table]"
    )


def test_a_number_is_read_however_it_is_written():
    ((choices, _),) = read_configurations("By columns.\nlp/rowrepswitch = -1.0\nlp/colagelimit = 50.0", SPACE)
    assert choices == {"lp/rowrepswitch": "-1", "lp/colagelimit": "50"}


def test_json_is_read_where_each_value_has_a_line():
    assert read_configurations(JSON, SPACE) == [(LEAN, "Cheap nodes.")]


@pytest.mark.parametrize(("answer", "count"), [("", 0), ("I cannot.", 0), ("a = b\n\n" * 9, MOST)])
def test_no_more_is_read_than_was_asked_for(answer, count):
    assert len(read_configurations(answer, SPACE)) == count


def test_the_line_of_a_trial_says_who_proposed_it_and_why():
    raced = Raced(costs=(0.5,), ratio=0.5, seen=1, cpu_s=1.0, won=True)
    trial = Trial(choices={"separating": "off"}, raced=raced, reason="Cuts take longest.")
    assert trial.line(1, {}) == "   1   1   0.500 * separating off (model: Cuts take longest.)"
