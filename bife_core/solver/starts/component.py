"""The component of start methods, for which a search writes Python."""

from __future__ import annotations

from typing import Final

from bife_core.language.components import Component

_BUILT_IN: Final = '{"kind": "configuration", "name": "%s", "start": "%s"}'

START: Final = Component(
    name="start",
    function="start",
    argument="problem",
    features=(),
    hook="",
    low_fidelity="1 minus the mean primal gap to the best objective that SCIP's default settings or earlier solves "
    "found, over the design instances and as many CPU seconds as SCIP takes by default: until the start method has "
    "ended the gap is 1, then that of its best solution; a better objective counts as a negative gap",
    method="bife_core.solver.methods.configuration:with_start",
    low="bife_core.measure.starts:score_source",
    first=tuple(_BUILT_IN % (name, name) for name in ("restricted", "local_search")),
    noun="start method",
    part="start",
    themes=(
        "Simulated annealing over the integers that decide all others, whose continuous variables follow by formula.",
        "Large neighbourhoods: fix most integers of a solution, solve_restricted the rest, choose where anew.",
        "Rounding: round the LP's values in a good order, and repair the rows that are violated after each step.",
        "Construction: decide the largest or scarcest things first, each where it costs least by then.",
        "Groups: find which variables stand for one thing (by names and rows), and exchange whole groups.",
        "Dive: fix what the LP is sure of by its reduced costs, solve_restricted the rest, widen if that fails.",
        "Several starts, recombined: build some solutions, keep what they share, solve_restricted the rest.",
        "Local search that balances: improve the bottleneck of a maximum first, then the sums.",
    ),
)
"""What is given to SCIP before it solves; `StartMethod` is what becomes of a source."""
