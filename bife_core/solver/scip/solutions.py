"""The best solution of a solve: by the names of variables, and as a file."""

from __future__ import annotations

import reprlib
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import pyscipopt

from bife_core.base.errors import InstanceError
from bife_core.base.files import file_at, write_whole
from bife_core.solver.scip.libscip import priced


def best_of(model: pyscipopt.Model) -> pyscipopt.scip.Solution | None:
    """Return SCIP's best solution; None if there is none, as of an unbounded model or within an objective limit."""
    bound = model.getPrimalbound()
    if not model.getNSols() or model.isInfinity(abs(bound)):
        return None
    best = model.getBestSol()
    # SCIP keeps solutions that are worse than the limit, which is its primal bound then.
    limited = not model.isInfinity(abs(model.getObjlimit()))
    return None if limited and not model.isFeasEQ(model.getSolObjVal(best), bound) else best


def solution_of(model: pyscipopt.Model) -> dict[str, float] | None:
    """Return the best solution of a model that was solved, by the names of variables, of priced ones too.

    It is None if there is none, and empty if variables share a name.
    """
    best = best_of(model)
    if best is None:
        return None
    values = [(one.name, model.getSolVal(best, one)) for one in model.getVars()] + priced(model)
    return named if len(named := dict(values)) == len(values) else {}


def check_names(names: Iterable[str]) -> None:
    """Raise an `InstanceError` if SCIP could not read by these names of variables what their values are."""
    for name, count in Counter(iter(names)).items():
        if count > 1 or name.encode().split() != [name.encode()] or len(name.encode()) > 990:
            raise InstanceError(
                "A solution file has names that differ, without blanks and of 990 bytes at most; rename "
                f"{'the variables' if count > 1 else 'the variable'} {reprlib.repr(name)}."
            )


def write_solution(path: Path, values: Mapping[str, float] | None, objective: float | None) -> None:
    """Write a solution as SCIP does (.sol): the objective, then what is not 0; without any leave no file there."""
    if not values:
        if (former := file_at(path)) is not None:
            former.unlink(missing_ok=True)
        return
    check_names(values)
    # SCIP skips lines that begin with NAME and some other words, but none that begins with a blank.
    lines = [
        f"objective value: {objective!r}",
        *(f" {name} {value!r}" for name, value in values.items() if value),
    ]
    write_whole(path, "\n".join(lines) + "\n")
