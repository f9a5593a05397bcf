"""Solutions of earlier instances as starts of the next, by the names of variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import pyscipopt

from bife_core.wording import counted

Solution: TypeAlias = Mapping[str, float]
"""The value of each variable of a model, by its name."""

STARTS: Final = 5
"""Earlier solutions that are given, the last ones: as many as SCIP completes of partial ones."""

_WITHIN: Final = 1e-6


def solution_of(model: pyscipopt.Model) -> dict[str, float] | None:
    """Return the best solution of a model that was solved; None if there is none."""
    if not model.getNSols():
        return None
    best = model.getBestSol()
    return {variable.name: model.getSolVal(best, variable) for variable in model.getVars()}


def give_starts(model: pyscipopt.Model, solutions: Sequence[Solution]) -> str:
    """Give a model that is not being solved yet the last `STARTS` solutions of others; return what was given, in words.

    Each is given twice (Patel, arXiv 2308.08986): whole, which SCIP drops unless it is feasible, and as its integer
    values alone, those within the new bounds, which SCIP's heuristic `completesol` completes. So no solution is
    accepted that the model does not have. Names that the model lacks are left out.
    """
    variables = {variable.name: variable for variable in model.getVars()}
    matching = max((len(variables.keys() & solution) for solution in solutions[-STARTS:]), default=0)
    if not matching:
        return "no start: no name of a variable matches" if solutions else "no start yet"
    bounded = {
        name: (variable.getLbOriginal() - _WITHIN, variable.getUbOriginal() + _WITHIN)
        for name, variable in variables.items()
        if variable.vtype() != "CONTINUOUS"
    }
    for solution in reversed(solutions[-STARTS:]):
        whole, partial = model.createOrigSol(), model.createPartialSol()
        for name in variables.keys() & solution:
            value = solution[name]
            model.setSolVal(whole, variables[name], value)
            if name in bounded and bounded[name][0] <= value <= bounded[name][1]:
                model.setSolVal(partial, variables[name], round(value))
        model.addSol(whole)
        model.addSol(partial)
    given = counted(len(solutions[-STARTS:]), "earlier solution")
    return f"starts from {given}, {matching} of {len(variables)} names match"
