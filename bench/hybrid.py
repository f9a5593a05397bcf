"""A rule with a little strong branching: it ranks, and the first few candidates are strong-branched while unreliable.

At a node the rule's `k` best candidates are handed to SCIP's reliability branching (SCIPexecRelpscostBranching) as
long as one of them has pseudocosts from fewer than `reliable` branchings in either direction; the best is branched on
without more ado once all have. Variants are given as `--variants k:reliable ...`; with 0 as `reliable` nothing is ever
strong-branched, which shows what it costs to be called from Python, as all variants are. They solve held-out models
beside the rule as it is, RPB and pscost, all methods of a model in turn on one core. One JSON object a line: {family,
method, cpu_s, nodes, ratio, ci_low, ci_high, wins, instances}, ratios being of CPU time to RPB's.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pyscipopt

from bench import tell
from bench.options import instances_of, parse
from bife_core.methods.base import Method
from bife_core.methods.loading import load_method
from bife_core.rules import CompiledRule, load_rule
from bife_core.scip.builtin import RPB
from bife_core.scip.extractor import FeatureExtractor
from bife_core.scip.libscip import check, library, scip_address
from bife_core.scip.lp_branchrule import LpBranchrule
from bife_core.scip.solving import SolveResult, solve
from bife_core.stats import geometric_mean, ratio_interval

_PRIORITY = 10_000_000


class HybridBranchrule(LpBranchrule):
    """Branches as the module's docstring says."""

    def __init__(self, rule: CompiledRule, k: int, reliable: float) -> None:
        self.rule, self.k, self.reliable = rule, k, reliable

    def branchinitsol(self) -> None:  # noqa: D102 - SCIP's word for it
        self.extractor = FeatureExtractor(self.solved, self.rule.features)
        self.scip = ctypes.c_void_p(scip_address(self.solved))

    def branchexeclp(self, allowaddcons: bool) -> dict[str, int]:  # noqa: D102
        _, features = self.extractor.extract()
        variables, solutions, fractions, count = self._candidates()
        order = np.argsort(-np.asarray(self.rule.score(features[:count])), kind="stable")[: self.k]
        if all(self._branched(variables[place]) >= self.reliable for place in order):
            self.solved.branchVar(self.solved.getLPBranchCands()[0][order[0]])
            return {"result": pyscipopt.SCIP_RESULT.BRANCHED}
        known, few = ctypes.c_int(), len(order)
        check(
            library().handle.SCIPexecRelpscostBranching(
                self.scip,
                (ctypes.c_void_p * few)(*(variables[place] for place in order)),
                (ctypes.c_double * few)(*(solutions[place] for place in order)),
                (ctypes.c_double * few)(*(fractions[place] for place in order)),
                ctypes.c_int(few),
                ctypes.c_uint(1),
                ctypes.byref(known),
            ),
            "branch",
        )
        return {"result": known.value}

    def _candidates(self) -> tuple[Any, Any, Any, int]:
        variables, solutions, fractions = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        every, preferred, implied = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
        found = (variables, solutions, fractions, every, preferred, implied)
        check(
            library().handle.SCIPgetLPBranchCands(self.scip, *map(ctypes.byref, found)), "list the candidates"
        )
        doubles = ctypes.POINTER(ctypes.c_double)
        return (
            ctypes.cast(variables, ctypes.POINTER(ctypes.c_void_p)),
            ctypes.cast(solutions, doubles),
            ctypes.cast(fractions, doubles),
            preferred.value,
        )

    def _branched(self, variable: int) -> float:
        count = library().handle.SCIPgetVarPseudocostCountCurrentRun
        count.restype, count.argtypes = ctypes.c_double, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int]
        return min(float(count(self.scip, variable, direction)) for direction in (0, 1))


class Hybrid(Method):
    """A rule, how many of its best candidates may be strong-branched, and until when."""

    kind: str = "hybrid"
    rule: str
    k: int
    reliable: float

    @property
    def identity(self) -> str:
        """All its fields."""
        return self.text

    def attach(self, model: pyscipopt.Model, guard: object = False) -> None:
        """Give it the highest priority."""
        branchrule = HybridBranchrule(load_rule(self.rule), self.k, self.reliable)
        branchrule.include(model, "hybrid", self.name, _PRIORITY)


def main() -> None:
    options = parse(__doc__, instances=10, rule="general", variants=["3:0", "3:1", "8:4"], time_limit=300.0)
    methods = [*map(load_method, (RPB, "pscost", options.rule))]
    for variant in options.variants:
        k, reliable = variant.split(":")
        name = f"{options.rule} {variant}"
        methods.append(Hybrid(name=name, rule=options.rule, k=int(k), reliable=float(reliable)))
    for family in options.families:
        found: dict[str, dict[str, list[SolveResult]]] = {method.name: {} for method in methods}
        for path in instances_of(family, options):
            for seed in options.seeds:
                for method in methods:
                    result = solve(path, method, seed=seed, time_limit_s=options.time_limit)
                    found[method.name].setdefault(path.name, []).append(result)
        for name, solves in found.items():
            tell({"family": family, "method": name} | line(solves, found[RPB]))


def line(solves: dict[str, list[SolveResult]], reference: dict[str, list[SolveResult]]) -> dict[str, Any]:
    """Return what a method took, and how that compares with RPB."""
    own, other = (
        {name: [result.cpu_s for result in results] for name, results in each.items()}
        for each in (solves, reference)
    )
    every = [result for results in solves.values() for result in results]
    compared = ratio_interval(own, other)
    return {
        "cpu_s": round(geometric_mean([one.cpu_s for one in every]), 3),
        "nodes": round(geometric_mean([max(1, one.nodes) for one in every]), 1),
        "ratio": round(compared.ratio, 3),
        "ci_low": compared.low and round(compared.low, 3),
        "ci_high": compared.high and round(compared.high, 3),
        "wins": sum(geometric_mean(own[name]) < geometric_mean(other[name]) for name in own),
        "instances": len(own),
    }


if __name__ == "__main__":
    main()
