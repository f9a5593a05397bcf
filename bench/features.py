"""Microseconds per feature extraction, at real nodes with the caches as an LP leaves them.

Each family's instances are solved to a node limit under a most-fractional rule; at every branching the extraction
is timed once, in CPU time of the thread. All 72 features and the columns the family's published rule reads are
timed in runs of their own, which meet the same nodes. One JSON object a line:
{family, candidates, us_all, us_subset}, medians over all calls.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyscipopt

from bench.options import instances_of, parse
from bife_core.benchmarks.screening import read_model
from bife_core.features import groups_of
from bife_core.rules import load_rule
from bife_core.scip import kernel, layout
from bife_core.scip.library import scip_address
from bife_core.scip.solving import SolveSettings, apply

PUBLISHED = {
    "combinatorial_auction": "paper_ca",
    "set_covering": "paper_sc",
    "independent_set": "paper_mis",
    "facility_location": "paper_cfl",
}


class _Timed(pyscipopt.Branchrule):  # type: ignore[misc]
    def __init__(self, mask: int) -> None:
        self.mask = mask
        self.state = layout.new_state()
        self.microseconds: list[float] = []
        self.candidates: list[int] = []

    def branchexeclp(self, allowaddcons: bool) -> dict[str, int]:
        scip = scip_address(self.model)
        started = time.thread_time_ns()
        n, _ = kernel.extract(scip, self.state, self.mask, False)
        self.microseconds.append((time.thread_time_ns() - started) / 1e3)
        self.candidates.append(n)
        variables, _, fractions, n, _, _ = self.model.getLPBranchCands()
        slack = [round(min(f, 1 - f), 6) for f in fractions[:n]]
        self.model.branchVar(variables[int(np.argmax(slack))])
        return {"result": pyscipopt.SCIP_RESULT.BRANCHED}


def measure(path: Path, mask: int, seed: int, nodes: int) -> _Timed:
    model, _, _ = read_model(path)
    apply(SolveSettings(node_limit=nodes, seed=seed), model)
    rule = _Timed(mask)
    model.includeBranchrule(rule, "timed", "", 10_000_000, -1, 1.0)
    model.optimize()
    layout.free_state(rule.state)
    # The first call of a solve takes the static features and fills the buffers.
    del rule.microseconds[:1]
    return rule


def main() -> None:
    options = parse(__doc__, instances=3, nodes=60)
    everything = layout.group_mask(groups_of(None))
    warm_up: dict[str, Any] = {}
    for family in options.families:
        subset = layout.group_mask(groups_of(load_rule(PUBLISHED[family]).features))
        times: dict[int, list[float]] = {everything: [], subset: []}
        candidates: list[int] = []
        for path in instances_of(family, options):
            if not warm_up:
                measure(path, everything, 0, 2)
                warm_up["done"] = True
            for seed in options.seeds:
                for mask, collected in times.items():
                    run = measure(path, mask, seed, options.nodes)
                    collected += run.microseconds
                    candidates += run.candidates
        print(
            json.dumps(
                {
                    "family": family,
                    "candidates": int(np.median(candidates)),
                    "us_all": round(float(np.median(times[everything])), 1),
                    "us_subset": round(float(np.median(times[subset])), 1),
                }
            ),
            flush=True,
        )


if __name__ == "__main__":
    main()
