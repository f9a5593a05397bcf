"""Microseconds of CPU time per feature extraction, for all features and for those of the family's published rule.

Under paper settings: `us_all` and `us_subset` are medians over repeated calls at the first branchings of each family's
golden model (`tests/data/golden`), with warm caches, what the bars are stated for; `us_all_at_nodes` and
`us_subset_at_nodes` over one call at every branching of generated instances, solved to a node limit under a
most-fractional rule: what a solve pays. One JSON object a line: {family, candidates, us_all, us_subset,
candidates_at_nodes, us_all_at_nodes, us_subset_at_nodes}.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pyscipopt

from bench import PUBLISHED, emit, instances_of, model_of, parse, rounded
from bife_core import load_rule
from bife_core.extend import SolverConfig, scip_address
from bife_core.solver.scip.compiled import layout, masks
from bife_core.solver.units import FEATURES

PAPER = SolverConfig.model_validate("paper").effective
GOLDEN = {
    "combinatorial_auction": "cauctions_0.mps.gz",
    "set_covering": "setcover_0.mps.gz",
    "independent_set": "indset_0.mps.gz",
    "facility_location": "facilities_0.mps.gz",
}
_GOLDEN_DIRECTORY = Path(__file__).parents[1] / "tests" / "data" / "golden"
_GOLDEN_NODES = 8
_REPEATS = 25


class _Timed(pyscipopt.Branchrule):  # type: ignore[misc]
    def __init__(self, mask: int, repeats: int) -> None:
        self.mask = mask
        self.repeats = repeats
        self.state = layout.new_state()
        self.microseconds: list[float] = []
        self.candidates: list[int] = []

    def branchexeclp(self, allowaddcons: bool) -> dict[str, int]:
        scip = scip_address(self.model)
        if self.repeats > 1:  # what comes first at a node fetches, and is not timed
            FEATURES.call("extract", scip, self.state.ctypes.data, self.mask)
        for _ in range(self.repeats):
            started = time.thread_time_ns()
            FEATURES.call("extract", scip, self.state.ctypes.data, self.mask)
            self.microseconds.append((time.thread_time_ns() - started) / 1e3)
        variables, _, fractions, n, _, _ = self.model.getLPBranchCands()
        self.candidates.append(n)
        slack = [round(min(f, 1 - f), 6) for f in fractions[:n]]
        self.model.branchVar(variables[int(np.argmax(slack))])
        return {"result": pyscipopt.SCIP_RESULT.BRANCHED}


def measure(path: Path, mask: int, seed: int, nodes: int, repeats: int = 1) -> _Timed:
    seeds = dict.fromkeys(("randomseedshift", "permutationseed", "lpseed"), seed) | {"permutevars": seed > 0}
    params = (
        PAPER | {"limits/nodes": nodes} | {f"randomization/{name}": value for name, value in seeds.items()}
    )
    model = model_of(path, params)
    rule = _Timed(mask, repeats)
    model.includeBranchrule(rule, "timed", "", 10_000_000, -1, 1.0)
    model.optimize()
    layout.free_state(rule.state)
    if repeats == 1:  # the first call of a solve takes the static features and fills the buffers
        del rule.microseconds[:1]
    return rule


def main() -> None:
    options = parse(__doc__, instances=3, nodes=60)
    everything = masks.mask_of(None)
    measure(_GOLDEN_DIRECTORY / GOLDEN["combinatorial_auction"], everything, 0, 2)  # compiles
    for family in options.families:
        subset = masks.mask_of(load_rule(PUBLISHED[family]).features)
        golden = _GOLDEN_DIRECTORY / GOLDEN[family]
        repeated = {mask: measure(golden, mask, 0, _GOLDEN_NODES, _REPEATS) for mask in (everything, subset)}
        times: dict[int, list[float]] = {mask: [] for mask in repeated}
        candidates: list[int] = []
        for path in instances_of(family, options):
            for seed in options.seeds:
                for mask, collected in times.items():
                    run = measure(path, mask, seed, options.nodes)
                    collected += run.microseconds
                    candidates += run.candidates
        line = {"family": family, "candidates": int(np.median(repeated[everything].candidates))}
        by_name = {"us_all": everything, "us_subset": subset}
        line |= rounded({name: np.median(repeated[mask].microseconds) for name, mask in by_name.items()}, 1)
        line |= {"candidates_at_nodes": int(np.median(candidates))}
        emit(
            line | rounded({f"{name}_at_nodes": np.median(times[mask]) for name, mask in by_name.items()}, 1)
        )


if __name__ == "__main__":
    main()
