"""Give solutions of earlier instances to the next one as starts, by the names of variables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import pyscipopt

from bife_core.base.errors import SolverError
from bife_core.solver.scip.libscip import scip_errors

STARTS: Final = 5
"""How many of the last solutions are used."""


def give_solutions(model: pyscipopt.Model, solutions: Sequence[Mapping[str, float]]) -> int:
    """Give a model that is not being solved yet starts from solutions of others; return how many names match.

    Whole solutions, which SCIP drops if infeasible, and partial ones, which its heuristic `completesol` completes: the
    integer values and zeros that all have in common, and the integer values of the last two (Patel, arXiv 2308.08986).
    Left out are ambiguous and unknown names, integer values outside the bounds, and starts SCIP has no room for.
    """
    count = Counter(variable.name for variable in model.getVars())
    variables = {variable.name: variable for variable in model.getVars() if count[variable.name] == 1}
    matching = ({name: values[name] for name in variables.keys() & values} for values in solutions)
    last = list(filter(None, matching))
    if not last:
        return 0
    for values in last:
        complete = model.createOrigSol()
        for name, value in values.items():
            model.setSolVal(complete, variables[name], value)
        model.addSol(complete)
    integers = [name for name, variable in variables.items() if variable.vtype() != "CONTINUOUS"]
    rounded = [{name: round(values[name]) for name in integers if name in values} for values in last]
    common = dict(set.intersection(*(set(values.items()) for values in rounded)))
    zeros = {name: value for name, value in common.items() if not value}
    for partial in (common, zeros, *rounded[-2:]):
        start = model.createPartialSol()
        for name, value in partial.items():
            variable = variables[name]
            if variable.getLbOriginal() - 1e-6 <= value <= variable.getUbOriginal() + 1e-6:
                model.setSolVal(start, variable, value)
        try:
            with scip_errors("SCIP takes no more starts"):
                model.addSol(start)
        except SolverError:  # it keeps `limits/maxorigsol` at most, with those that a user gave before
            break
    return max(map(len, last))
