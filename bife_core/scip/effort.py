"""What branching itself cost a solve: side effects that save nodes, and the time it took."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import pyscipopt

from bife_core.scip.libscip import library, scip_address


@dataclass(frozen=True, slots=True)
class BranchingEffort:
    """Counters SCIP keeps of all its branching rules together.

    Attributes
    ----------
    cutoffs, reductions : int
        Nodes cut off, and domains tightened, by branching rules while they chose a variable.
    seconds : float
        Seconds spent in branching rules, on SCIP's clock.
    """

    cutoffs: int
    reductions: int
    seconds: float

    def fair_nodes(self, nodes: int) -> int:
        """Return the fair node number of Gamrath and Schubert: side effects count as the nodes they replace."""
        return nodes + 2 * (self.cutoffs + self.reductions)


def branching_effort(model: pyscipopt.Model) -> BranchingEffort:
    """Read the counters of all branching rules of a model, usually after `optimize`."""
    cutoffs = _function("SCIPbranchruleGetNCutoffs", ctypes.c_longlong)
    reductions = _function("SCIPbranchruleGetNDomredsFound", ctypes.c_longlong)
    seconds = _function("SCIPbranchruleGetTime", ctypes.c_double)
    pointers = _branching_rules(model)
    return BranchingEffort(
        cutoffs=sum(int(cutoffs(rule)) for rule in pointers),
        reductions=sum(int(reductions(rule)) for rule in pointers),
        seconds=sum(float(seconds(rule)) for rule in pointers),
    )


def has_branched(model: pyscipopt.Model) -> bool:
    """Whether any branching rule was asked at an LP solution, even if all it did was to tighten a bound."""
    calls = _function("SCIPbranchruleGetNLPCalls", ctypes.c_longlong)
    return any(int(calls(rule)) for rule in _branching_rules(model))


def _branching_rules(model: pyscipopt.Model) -> list[ctypes.c_void_p]:
    handle, scip = library().handle, ctypes.c_void_p(scip_address(model))
    rules = _function("SCIPgetBranchrules", ctypes.POINTER(ctypes.c_void_p))(scip)
    return [ctypes.c_void_p(rules[k]) for k in range(int(handle.SCIPgetNBranchrules(scip)))]


def lp_solver() -> str:
    """Return name and version of the LP solver SCIP was built with, such as ``SoPlex 8.0.2``."""
    name: bytes = _function("SCIPlpiGetSolverName", ctypes.c_char_p)()
    return name.decode()


def _function(name: str, result: type[object]) -> ctypes._NamedFuncPointer:
    # Indexing, unlike attribute access, gives an object of our own, whose result type others do not see.
    function = library().handle[name]
    function.restype = result
    return function
