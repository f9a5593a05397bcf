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
    """Return SCIP's best solution; None without one, as of an unbounded model or within an objective limit."""
    bound = model.getPrimalbound()
    if not model.getNSols() or model.isInfinity(abs(bound)):
        return None
    best = model.getBestSol()
    # SCIP keeps solutions worse than the objective limit, which then is its primal bound.
    limited = not model.isInfinity(abs(model.getObjlimit()))
    return None if limited and not model.isFeasEQ(model.getSolObjVal(best), bound) else best


def solution_of(model: pyscipopt.Model) -> dict[str, float] | None:
    """Return the best solution by names of variables, priced ones too; None without one, {} if names are not unique."""
    best = best_of(model)
    if best is None:
        return None
    values = [(variable.name, model.getSolVal(best, variable)) for variable in model.getVars()]
    values += priced(model)
    return named if len(named := dict(values)) == len(values) else {}


def check_names(names: Iterable[str]) -> None:
    """Raise an `InstanceError` if SCIP could not read a solution file with these names of variables."""
    for name, count in Counter(iter(names)).items():
        if count > 1 or name.encode().split() != [name.encode()] or len(name.encode()) > 990:
            raise InstanceError(
                "A solution file has names that differ, without blanks and of 990 bytes at most; rename "
                f"{'the variables' if count > 1 else 'the variable'} {reprlib.repr(name)}."
            )


def write_solution(path: Path, values: Mapping[str, float] | None, objective: float | None) -> None:
    """Write the objective and the values that are not 0 as SCIP does (.sol); without values remove the file."""
    if not values:
        if (former := file_at(path)) is not None:
            former.unlink(missing_ok=True)
        return
    check_names(values)
    # SCIP skips lines that begin with NAME and some other words, but none that begins with a blank.
    lines = (f" {name} {value!r}\n" for name, value in values.items() if value)
    write_whole(path, "".join([f"objective value: {objective!r}\n", *lines]))
