"""The numbers of a rule tuned on F_LF, before any solve is made with it.

A rule is compiled once with its numbers lifted: each is read from a feature that the rule does not read. What is tried
then costs no more than scoring the recorded candidates.
"""

from __future__ import annotations

import ast
from typing import Final

import numpy as np

from bife_core.decisions.recorded import Decisions
from bife_core.fidelity.measures import Yardstick, chosen_rows
from bife_core.fidelity.scoring import score_columns
from bife_core.rules import Rejection, compile_rule
from bife_core.rules.language import FUNCTION_NAME
from bife_core.rules.literals import literals, with_literals
from bife_core.syntax import syntax_tree

_SPREAD: Final = 0.5
"""Standard deviation of the first settings tried, in log units."""

_DIGITS: Final = 3

_REMARK: Final = "# Numbers were tuned on F_LF after this was written."


def tuned(source: str, decisions: Decisions, yardstick: Yardstick, trials: int, seed: int = 0) -> str | None:
    """Return the rule with the numbers of highest F_LF among those tried; None if none is better than its own.

    CMA-ES (Hansen, 2016) on the logarithms of the numbers. Of the best setting each number goes back to the author's
    that F_LF does not fall without, so that what has a meaning keeps it (``1.0 - x``). Numbers outside the scoring
    function are left alone.

    Parameters
    ----------
    source : str
        A valid rule.
    trials : int
        Settings after which the search ends, once the batch it is in is done; the way back comes after them.
    """
    rule = compile_rule(source)
    places = [literal for literal in literals(source) if literal.of_score]
    if isinstance(rule, Rejection) or not places:
        return None
    free = [index for index in range(len(decisions.columns)) if index not in rule.features][: len(places)]
    places = places[: len(free)]
    argument = next(
        [*node.args.posonlyargs, *node.args.args][0].arg
        for node in syntax_tree(source).body
        if isinstance(node, ast.FunctionDef) and node.name == FUNCTION_NAME
    )
    lifted = compile_rule(with_literals(source, places, [f"{argument}[{index}]" for index in free]))
    if isinstance(lifted, Rejection):
        return None
    columns = decisions.columns.copy()
    used = np.array(sorted(lifted.features), dtype=np.int64)
    scores = np.empty(decisions.n_candidates)
    author = np.array([literal.value for literal in places])

    def f_lf(numbers: np.ndarray) -> float:
        columns[free] = numbers[:, np.newaxis]
        if not score_columns(lifted.address, columns, used, scores):
            return -np.inf
        return yardstick.f_lf(chosen_rows(scores, decisions.offsets))

    import cmaes  # here, for it brings scipy's statistics, which take most of a second to import

    best, best_numbers = f_lf(author), None
    search = cmaes.CMA(mean=np.zeros(len(places)), sigma=_SPREAD, seed=seed) if len(places) > 1 else None
    rng = np.random.Generator(np.random.PCG64(seed))
    tried = 0
    while tried < trials and not (search is not None and search.should_stop()):
        # One number has no covariance to learn.
        size = search.population_size if search is not None else 8
        steps = [search.ask() if search is not None else rng.normal(0.0, _SPREAD, 1) for _ in range(size)]
        found = []
        for step in steps:
            numbers = np.array([float(f"{value:.{_DIGITS}g}") for value in author * np.exp(step)])
            reached = f_lf(numbers)
            if reached > best:
                best, best_numbers = reached, numbers
            found.append((step, -reached if np.isfinite(reached) else 1e9))
        if search is not None:
            search.tell(found)
        tried += size
    if best_numbers is None:
        return None
    # The longest way first: what moved most has most to explain.
    for place in np.argsort(-np.abs(np.log(best_numbers / author)), kind="stable"):
        returned = best_numbers.copy()
        returned[place] = author[place]
        if (reached := f_lf(returned)) >= best:
            best, best_numbers = reached, returned
    changed = [place for place in range(len(places)) if best_numbers[place] != author[place]]
    better = with_literals(
        source, [places[place] for place in changed], [repr(float(best_numbers[place])) for place in changed]
    )
    # The author's words may name numbers that are others now.
    return better if better.startswith(_REMARK) else f"{_REMARK}\n{better}"
