"""The numbers of a rule tuned on F_LF, before any solve is made with it.

A rule is compiled once with its numbers lifted: each is read from a feature that the rule does not read. What is tried
then costs no more than scoring the recorded candidates.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from bife_core.components import BRANCHING
from bife_core.decisions.recorded import Decisions
from bife_core.fidelity.measures import Yardstick, score_columns
from bife_core.rules import Rejection, compile_rule
from bife_core.rules.literals import literals, with_literals
from bife_core.rules.module import parameters
from bife_core.syntax import functions_in

_SPREAD: Final = 0.5
"""Standard deviation of the first settings tried, in log units."""
_REMARK: Final = "# Numbers were tuned on F_LF after this was written."


def tuned(source: str, decisions: Decisions, yardstick: Yardstick, trials: int, seed: int = 0) -> str | None:
    """Return the rule with the numbers of highest F_LF among those tried; None if none is better than its own.

    CMA-ES (Hansen, 2016) on the logarithms of the numbers of the scoring function, until `trials` settings were tried
    and the batch is done. Of the best setting each number goes back to the author's that F_LF does not fall without.
    """
    rule = compile_rule(source)
    places = [literal for literal in literals(source) if literal.of_score]
    if isinstance(rule, Rejection) or not places:
        return None
    free = [index for index in range(len(decisions.columns)) if index not in rule.features][: len(places)]
    places = places[: len(free)]
    (argument,) = parameters(functions_in(source)[BRANCHING.function])
    lifted = compile_rule(with_literals(source, places, [f"{argument}[{index}]" for index in free]))
    if isinstance(lifted, Rejection):
        return None
    columns = decisions.columns.copy()
    used = np.array(sorted(lifted.features), dtype=np.int64)
    scores = np.empty(decisions.n_candidates)
    author = np.array([literal.value for literal in places])

    def f_lf(numbers: np.ndarray) -> float:
        columns[free] = numbers[:, np.newaxis]
        score_columns(lifted.address, columns, decisions.offsets, used, scores)
        return yardstick.of_scores(scores)

    import cmaes  # here, for it brings scipy's statistics, which take most of a second to import

    best, best_numbers = f_lf(author), author
    # One number has no covariance to learn; the second that CMA-ES needs is ignored.
    search = cmaes.CMA(mean=np.zeros(max(2, len(places))), sigma=_SPREAD, seed=seed)
    for _ in range(0, trials, search.population_size):
        if search.should_stop():
            break
        found = []
        for _ in range(search.population_size):
            step = search.ask()
            factors = np.exp(step[: len(places)])
            numbers = np.array([float(f"{value:.3g}") for value in author * factors])
            reached = f_lf(numbers)
            if reached > best:
                best, best_numbers = reached, numbers
            found.append((step, -reached))
        search.tell(found)
    if best_numbers is author:
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
