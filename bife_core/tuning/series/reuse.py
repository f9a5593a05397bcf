"""Solutions of earlier instances as starts of the next, by the names of variables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

import pyscipopt

from bife_core.base.errors import SolverError
from bife_core.solver.scip.libscip import scip_errors

STARTS: Final = 5
"""Earlier solutions that are looked at, the last ones."""


def give_starts(model: pyscipopt.Model, solutions: Sequence[Mapping[str, float]]) -> int:
    """Give a model that is not being solved yet starts from solutions of others; return how many names match.

    Each is given whole, and SCIP drops it unless it is feasible. SCIP's heuristic `completesol` completes some integer
    values: those that all of the solutions agree on, the zeros that they agree on, and those of the last two (Patel,
    arXiv 2308.08986, has the last ones and the common ones). So no solution is accepted that the model does not have.
    Names that the model lacks or several variables have are left out, and so are integer values outside its bounds, and
    starts that SCIP has no room for.
    """
    shared = Counter(variable.name for variable in model.getVars())
    variables = {one.name: one for one in model.getVars() if shared[one.name] == 1}
    last = [values for one in solutions if (values := {name: one[name] for name in variables.keys() & one})]
    if not last:
        return 0
    for values in last:
        whole = model.createOrigSol()
        for name, value in values.items():
            model.setSolVal(whole, variables[name], value)
        model.addSol(whole)
    integers = [name for name, variable in variables.items() if variable.vtype() != "CONTINUOUS"]
    every = [{name: round(values[name]) for name in integers if name in values} for values in last]
    common = dict(set.intersection(*(set(values.items()) for values in every)))
    zeros = {name: value for name, value in common.items() if not value}
    for partial in (common, zeros, *every[-2:]):
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
