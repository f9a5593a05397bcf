"""Classes of integer variables, by name the same over a family, and those that SCIP branches on first.

A class is a name such as ``variables/u``: the first letters of the variables' names. A variable whose name has no
letter, and one that is not integer, has no class.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Collection, Iterator
from typing import Annotated, Final, TypeAlias

import pyscipopt
from pydantic import AfterValidator, StringConstraints

from bife_core.solver.scip.libscip import function

PREFIX: Final = "variables/"
"""Beginning of a class's name."""

VariableClasses: TypeAlias = Annotated[
    tuple[Annotated[str, StringConstraints(pattern="^variables/[A-Za-z]+$")], ...],
    AfterValidator(lambda names: tuple(sorted(set(names)))),
]
"""A field for names of classes, in order, each once."""

_LETTERS: Final = re.compile("[^A-Za-z]*([A-Za-z]+)")
_TRANSFORMED: Final = "t_"  # what SCIP puts before the names of the problem that it solves


def classes_of(model: pyscipopt.Model) -> dict[str, list[pyscipopt.scip.Variable]]:
    """Return the integer variables of a model that is not being solved yet, by class.

    Examples
    --------
    >>> model = pyscipopt.Model()
    >>> for name, kind in (("u_1", "B"), ("u_2", "B"), ("start[1,2]", "I"), ("p_1", "C")):
    ...     variable = model.addVar(name, vtype=kind)
    >>> {name: len(variables) for name, variables in classes_of(model).items()}
    {'variables/u': 2, 'variables/start': 1}
    """
    return _by_class((variable.name, variable) for variable in model.getVars())


def branch_first(model: pyscipopt.Model, classes: Collection[str], transformed: bool = False) -> int:
    """Give the variables of some classes a higher branching priority; return how many these are.

    A model in which a variable has another priority than 0 is left as it is, and -1 returned.
    """
    variables = model.getVars(transformed=transformed)
    priority_of = function("SCIPvarGetBranchPriority")
    if any(priority_of(ctypes.c_void_p(variable.ptr())) for variable in variables):
        return -1
    before = _TRANSFORMED if transformed else ""
    named = _by_class((variable.name.removeprefix(before), variable) for variable in variables)
    chosen = [variable for name in classes for variable in named.get(name, ())]
    for variable in chosen:
        model.chgVarBranchPriority(variable, 1)
    return len(chosen)


def _by_class(
    named: Iterator[tuple[str, pyscipopt.scip.Variable]],
) -> dict[str, list[pyscipopt.scip.Variable]]:
    classes = dict[str, list[pyscipopt.scip.Variable]]()
    for name, variable in named:
        if (letters := _LETTERS.match(name)) and variable.vtype() != "CONTINUOUS":
            classes.setdefault(PREFIX + letters[1], []).append(variable)
    return classes
