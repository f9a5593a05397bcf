"""Watch an exported rule branch in the SCIP of whichever Python runs this file; `bench.export --python` does.

It needs PySCIPOpt and NumPy alone, and shares no code with the rule's C file: at every branching features are taken
anew from what PySCIPOpt says of the LP, by their definition in docs/reference/features.md, and the rule is called as
Python. What is asked comes as JSON on standard input; the answer is one JSON object a model.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections import defaultdict
from typing import Any

import numpy as np
import pyscipopt

N_FEATURES = 72
CLOSE, TINY = 1e-9, 1e-12
"""Differences that the order of additions may make: in shares of a number, and of one near 0."""
PASS = {"result": pyscipopt.SCIP_RESULT.DIDNOTRUN}
DOWN, UP = 0, 1

# The dependencies of PySCIPOpt's module hold the one libscip of this process; the plugin finds its functions there.
LIBRARY = ctypes.CDLL(pyscipopt.scip.__file__, mode=ctypes.RTLD_GLOBAL)
LIBRARY.SCIPgetVarPseudocost.restype = LIBRARY.SCIPvarGetCutoffSum.restype = ctypes.c_double
LIBRARY.SCIPvarGetNBranchings.restype = ctypes.c_longlong
VERSION = ".".join(str(getattr(LIBRARY, f"SCIP{part}Version")()) for part in ("major", "minor", "tech"))


def pointer(model: Any) -> ctypes.c_void_p:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.c_void_p(get(model.to_ptr(False), b"scip"))


def over(x: float, y: float) -> float:
    """Return x / y, or 0 where y is 0."""
    return x / y if y else 0.0


def spread(values: list[float]) -> list[float]:
    """Return mean, population standard deviation, smallest and largest; 0 of nothing."""
    return [float(np.mean(values)), float(np.std(values)), min(values), max(values)] if values else [0.0] * 4


class Features:
    """The features of Khalil et al. of the candidates at a branching; what is static is kept from the first one."""

    def __init__(self, model: Any) -> None:
        self.model, self.scip = model, pointer(model)
        self.static: dict[int, list[float]] = {}

    def take(self) -> dict[int, Any]:
        """Return the vector of every candidate by its variable."""
        model = self.model
        self.rows = model.getLPRowsData()
        self.values = [row.getVals() for row in self.rows]
        columns = [[column.getVar().ptr() for column in row.getCols()] for row in self.rows]
        self.entries: dict[int, list[tuple[int, float]]] = defaultdict(list)
        for k, (variables_of, values) in enumerate(zip(columns, self.values, strict=True)):
            for variable, value in zip(variables_of, values, strict=True):
                self.entries[variable].append((k, value))
        for column in model.getLPColsData():
            variable = column.getVar().ptr()
            if column.isIntegral() and variable not in self.static:
                self.static[variable] = self.column(variable, column.getObjCoeff())
        free = {variable.ptr() for variable in model.getPseudoBranchCands()[0]}
        sizes = [sum(map(abs, values)) for values in self.values]
        free_sizes = [
            sum(abs(value) for variable, value in zip(variables_of, values, strict=True) if variable in free)
            for variables_of, values in zip(columns, self.values, strict=True)
        ]
        self.weights = [
            [1.0] * len(self.rows),
            [1.0 / size if size else 1.0 for size in sizes],
            [1.0 / size if size else 1.0 for size in free_sizes],
            [abs(model.getRowDualSol(row)) for row in self.rows],
        ]
        variables, solution, _, _, n, _ = model.getLPBranchCands()
        return {v.ptr(): self.vector(v.ptr(), x) for v, x in zip(variables[:n], solution[:n], strict=True)}

    def column(self, variable: int, cost: float) -> list[float]:
        """Return what is taken of a column once a solve."""
        entries = self.entries[variable]
        positive, negative = ([value for _, value in entries if sign * value > 0] for sign in (1, -1))
        lengths = [self.rows[k].getNNonz() for k, _ in entries]
        column = [cost, max(cost, 0.0), min(cost, 0.0), len(entries), *spread(lengths)]
        return [*column, len(positive), *spread(positive), len(negative), *spread(negative)]

    def vector(self, variable: int, value: float) -> Any:
        """Return the features of one candidate."""
        model, entries, static = self.model, self.entries[variable], self.static[variable]
        at = ctypes.c_void_p(variable)
        fraction = model.feasFrac(value)
        up = (1.0 - fraction) * LIBRARY.SCIPgetVarPseudocost(self.scip, at, UP)
        down = fraction * LIBRARY.SCIPgetVarPseudocost(self.scip, at, DOWN)
        p, q = max(up, 1e-5), max(down, 1e-5)
        cutoffs = [LIBRARY.SCIPvarGetCutoffSum(at, way) for way in (UP, DOWN)]
        branchings = [LIBRARY.SCIPvarGetNBranchings(at, way) for way in (UP, DOWN)]
        lengths = spread([self.rows[k].getNLPNonz() for k, _ in entries])
        roots = [static[4], static[6], static[7]]
        now = [lengths[0], lengths[2], lengths[3]]
        features = [
            *static,
            min(fraction, 1.0 - fraction),
            1.0 - fraction,
            *(up, down, min(p, q) / max(p, q), up + down, up * down),
            *cutoffs,
            *map(over, cutoffs, branchings),
            *lengths,
            *(over(a, root + a) for a, root in zip(now, roots, strict=True)),
            *self.sides(entries),
            *self.shares(entries),
        ]
        for weights in self.weights:
            active = [(weights[k], weights[k] * abs(a)) for k, a in entries if self.active(self.rows[k])]
            weighted = [y for _, y in active]
            features += [sum(w for w, _ in active), sum(weighted), *spread(weighted)]
        return np.array(features, dtype=np.float64)

    def active(self, row: Any) -> bool:
        """Whether the LP solution lies on a side of a row."""
        activity = self.model.getRowActivity(row)
        return any(abs(activity - side) <= self.model.epsilon() for side in (row.getLhs(), row.getRhs()))

    def sides(self, entries: list[tuple[int, float]]) -> list[float]:
        """Return features 36 to 39."""
        infinity = self.model.infinity()
        pairs = [(a, self.rows[k].getRhs()) for k, a in entries if self.rows[k].getRhs() < infinity]
        pairs += [(-a, -self.rows[k].getLhs()) for k, a in entries if self.rows[k].getLhs() > -infinity]
        ends: list[float] = []
        for wanted in (True, False):
            ratios = [over(c, abs(c) + abs(b)) for c, b in pairs if (b >= 0) == wanted]
            ends += [min([1.0, *ratios]), max([-1.0, *ratios])]
        return ends

    def shares(self, entries: list[tuple[int, float]]) -> list[float]:
        """Return features 40 to 47."""
        folded: list[list[float]] = [[], [], [], []]
        for k, a in entries:
            positive = sum(value for value in self.values[k] if value > 0)
            negative = sum(value for value in self.values[k] if value < 0)
            if a > 0:
                folded[0].append(a / positive)
                folded[1].append(a / (a - negative))
            else:
                folded[2].append(a / (a - positive))
                folded[3].append(a / negative)
        return [end for shares in folded for end in (min([1.0, *shares]), max([0.0, *shares]))]


class Watching(pyscipopt.Branchrule):  # type: ignore[misc]
    """Before the plugin branches, takes down what it should do; lets it branch."""

    def __init__(self, plugin: ctypes.CDLL, source: str, *, compare: bool) -> None:
        self.plugin, self.compare = plugin, compare
        self.rule: dict[str, Any] = {}
        exec(source, self.rule)  # a rule that `export_c` has checked
        self.features: Features | None = None
        self.scores: dict[int, float] = {}
        self.branchings = self.values = self.off = 0
        self.error: BaseException | None = None

    def branchexeclp(self, allowaddcons: bool) -> dict[str, int]:
        """Look, and leave the branching to the plugin."""
        try:
            self._look()
        except BaseException as error:  # noqa: BLE001 - raised again outside SCIP
            self.error = error
            self.model.interruptSolve()
        return PASS

    branchexecps = branchexecext = lambda self, allowaddcons: PASS

    def _look(self) -> None:
        if self.features is None:
            self.features = Features(self.model)
        expected = self.features.take()
        self.branchings += 1
        score = self.rule["candidate_variable_score"]
        self.scores = {variable: float(score(features)) for variable, features in expected.items()}
        if not self.compare:
            return
        wanted = np.array(list(expected.values()))
        shown = np.full((self.model.getLPBranchCands()[3], N_FEATURES), np.nan)
        if self.plugin.show_features(self.features.scip, ctypes.c_void_p(shown.ctypes.data)) != len(shown):
            raise RuntimeError("The plugin has other candidates.")
        shown = shown[: len(wanted)]
        read = ~np.isnan(shown)
        self.values += int(read.sum())
        self.off += int((~np.isclose(shown[read], wanted[read], rtol=CLOSE, atol=TINY)).sum())


class Choices(pyscipopt.Eventhdlr):  # type: ignore[misc]
    """Takes down what was branched on, and whether no candidate of the watcher has a higher score."""

    def __init__(self, watching: Watching) -> None:
        self.watching = watching
        self.seen: list[str] = []
        self.others = 0

    def eventinit(self) -> None:  # noqa: D102 - SCIP's word for it
        self.model.catchEvent(pyscipopt.SCIP_EVENTTYPE.NODEBRANCHED, self)

    def eventexit(self) -> None:  # noqa: D102
        self.model.dropEvent(pyscipopt.SCIP_EVENTTYPE.NODEBRANCHED, self)

    def eventexec(self, event: Any) -> None:
        """Compare the choice of the node that was branched at just now."""
        scores, self.watching.scores = self.watching.scores, {}
        if not scores:  # not branched on an LP solution
            return
        _, children, _ = self.model.getOpenNodes()
        (variable,), _, _ = children[0].getParentBranchings()
        self.seen.append(variable.name)
        best = max(scores.values())
        score = scores.get(variable.ptr(), -np.inf)
        self.others += not score >= best - CLOSE * abs(best)


def solved(path: str, request: dict[str, Any], plugin: ctypes.CDLL, *, compare: bool) -> Any:
    """Solve a model with the plugin in charge; return who watched, and every choice."""
    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem(path)
    for name, value in request["params"].items():
        model.setParam(name, value)
    if getattr(plugin, request["include"])(pointer(model)) != 1:
        raise RuntimeError("SCIP does not take the plugin.")
    # Who watches goes first, and no branching rule may have a higher priority than the plugin gives itself.
    below = {"branching/bife/priority": 10_000_000, "branching/relpscost/priority": 9_999_999}
    model.setParams(below | {"branching/bife/maxshare": 0.0})
    watching = Watching(plugin, request["rule"], compare=compare)
    choices = Choices(watching)
    model.includeBranchrule(watching, "watching", "", 20_000_000, -1, 1.0)
    model.includeEventhdlr(choices, "choices", "")
    model.optimize()
    if watching.error is not None:
        raise watching.error
    return watching, choices, model.getNLPIterations()


def main() -> None:
    request = json.load(sys.stdin)
    plugin = ctypes.CDLL(request["library"])
    for family, name, path in request["models"]:
        watching, choices, _ = solved(path, request, plugin, compare=True)
        _, undisturbed, _ = solved(path, request, plugin, compare=False)
        same = choices.seen == undisturbed.seen and len(choices.seen) == watching.branchings
        line = {"family": family, "model": name, "rule": request["name"], "scip": VERSION}
        line |= {"branchings": watching.branchings, "other_choices": choices.others + undisturbed.others}
        line |= {"values": watching.values, "values_off": watching.off, "same": same}
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
