"""Which measure of a solve that is cut at a tenth orders configurations as whole solves do (Kendall's tau).

`--candidates` configurations (the starts of tuning and random changes of them), or `--rules` (a directory of Python
files, beside pscost and RPB; `--lean`: without separation and heuristics), solve design instances whole, for at most
twice what the first of them takes (`--most` seconds), and for a tenth of that: `given` its best solution, `limited` by
the objective, and `cut` without either. One JSON object a line: {family, instance, whole_s, kind, measure, candidates,
tau, others}: `tau` is with the whole solves of the same instance, `others` with those of the others. Measures: the gap
to the best solution known (of a solve that ended, its time), the primal-dual integral, and the time to the end by
SCIP's tree-size estimation. Solves are kept in `--solves`.
"""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import log
from pathlib import Path
from statistics import fmean
from typing import Any, Final, TypeAlias

from scipy.stats import kendalltau

from bench import benchmark_of, emit, kept, model_of, parse
from bife_core import SolveSettings, load_method
from bife_core.extend import Instance, digest_of, library, scip_address
from bife_core.solver.methods.attach import solve_model
from bife_core.solver.scip.cost import relative_gap
from bife_core.solver.scip.solutions import solution_of
from bife_core.solver.scip.solve import RootClock, apply
from bife_core.tuning.space import BRANCHING, Choices, Space, choices_text
from bife_core.tuning.starting import STARTING_SETTINGS, WITH_EVERY_METHOD

LEAN: Final[Choices] = STARTING_SETTINGS[0]
FACTS: Final = ("cpu_s", "root_s", "status", "nodes", "primal_bound", "dual_bound", "primal_dual_integral")
ENDED: Final = ("optimal", "infeasible")
"""Statuses of a solve that ended: there may be no solution better than the limit."""

Solve: TypeAlias = Mapping[str, Any]
Solves: TypeAlias = dict[tuple[str, str, str], Solve]
"""Solves by instance, configuration and kind."""


def candidates_of(space: Space, count: int) -> list[Choices]:
    """Return SCIP's default settings, the starting configurations and random changes of them."""
    names = ("general", "pscost", "relpscost")
    starts = [{**start, BRANCHING: name} for start in WITH_EVERY_METHOD for name in names]
    rest = [start for start in STARTING_SETTINGS if start not in WITH_EVERY_METHOD]
    candidates: list[Choices] = [{}]
    for start in (*starts, *({BRANCHING: "general", **start} for start in rest)):
        if (choices := space.counting(start)) not in candidates:
            candidates.append(choices)
    rng = random.Random(7)
    while len(candidates) < count:
        changed = dict(rng.choice(candidates[1:13]))
        for row in rng.sample(space.rows, 5):
            changed[row.name] = rng.choice(row.choices)
        if (choices := space.counting(changed)) not in candidates:
            candidates.append(choices)
    return candidates[:count]


class Solver:
    """Solves once what is not in a folder yet."""

    def __init__(self, space: Space, folder: Path) -> None:
        self.space, self.folder = space, folder
        self.solves: Solves = {}
        self.estimate = library()["SCIPgetTreesizeEstimation"]
        self.estimate.restype, self.estimate.argtypes = ctypes.c_double, [ctypes.c_void_p]

    def solve(
        self, instance: Instance, choices: Choices, kind: str, limit_s: float, to_the_end: Solve | None = None
    ) -> Solve:
        """Return a solve within CPU seconds, `given` or `limited` by what a solve to the end came to."""
        key = (instance.name, choices_text(choices), kind)
        file = self.folder / f"{digest_of(key)[:16]}.json"
        solve = kept(file, lambda: self._solved(instance, choices, kind, limit_s, to_the_end))
        self.solves[key] = solve
        return dict(solve)

    def _solved(
        self, instance: Instance, choices: Choices, kind: str, limit_s: float, to_the_end: Solve | None
    ) -> Solve:
        model = model_of(instance.path)
        better_than = to_the_end["primal_bound"] if to_the_end and kind == "limited" else None
        settings = SolveSettings(time_limit_s=limit_s, guard=True, objective_limit=better_than)
        with RootClock.over(model) as clock:
            apply(settings, model)
            if to_the_end and kind == "given":
                solution = model.createOrigSol()
                for variable in model.getVars():
                    model.setSolVal(solution, variable, to_the_end["solution"][variable.name])
                model.addSol(solution)
            result = solve_model(model, self.space.configuration(choices), settings, instance.name, clock)
            estimate = self.estimate(scip_address(model))
            best = solution_of(model) if kind == "whole" else None
        facts = {fact: getattr(result, fact) for fact in FACTS}
        return facts | {"limit_s": limit_s, "estimate": estimate, "solution": best}


def gap(row: Solve, best: float) -> float:
    """Return the gap that is left; below 0 for a solve that ended, the sooner the lower."""
    ended = row["status"] in ENDED
    return row["cpu_s"] / row["limit_s"] - 1.0 if ended else relative_gap(best, row["dual_bound"])


def estimated(row: Solve, best: float) -> float:
    """Return the time to the end, or where SCIP does not know the size of the tree more than any, by the gap."""
    if row["status"] in ENDED:
        return float(row["cpu_s"])
    root_s = row["root_s"] or 0.0
    has_estimate = row["estimate"] > 0 and row["nodes"] > 1
    tree_s = (row["cpu_s"] - root_s) * row["estimate"] / max(row["nodes"], 1)
    return root_s + tree_s if has_estimate else 1e9 + gap(row, best)


MEASURES: Final[Mapping[str, Callable[[Solve, float], float]]] = {
    "gap": gap,
    "integral": lambda row, _: float(row["primal_dual_integral"]),
    "estimation": estimated,
}


def orders(solves: Solves, instances: Sequence[str], names: Sequence[str]) -> Iterator[dict[str, Any]]:
    cpu_s_of = {
        instance: [solves[instance, name, "whole"]["cpu_s"] for name in names] for instance in instances
    }
    for instance in instances:
        first = solves[instance, names[0], "whole"]
        logs = [[log(cpu_s) for cpu_s in cpu_s_of[other]] for other in instances if other != instance]
        others = [fmean(values) for values in zip(*logs, strict=True)]
        judged = {("whole", "time"): cpu_s_of[instance]}
        for kind in ("given", "limited", "cut"):
            for measure, of in MEASURES.items():
                rows = [solves[instance, name, kind] for name in names]
                judged[kind, measure] = [of(row, first["primal_bound"]) for row in rows]
        for (kind, measure), values in judged.items():
            line = {"instance": instance, "whole_s": first["cpu_s"], "kind": kind, "measure": measure}
            line |= {"candidates": len(names)}
            line |= {"tau": kendalltau(values, cpu_s_of[instance])[0] if kind != "whole" else None}
            yield line | {"others": kendalltau(values, others)[0] if others else None}


def main() -> None:
    options = parse(
        __doc__, instances=2, size="transfer", candidates=30, rules="", lean=False, most=300.0,
        solves="bench-middle",
    )  # fmt: skip
    files = sorted(Path(options.rules).glob("*.py")) if options.rules else []
    rules = {f"{file.stem} {(rule := load_method(file)).identity[:8]}": rule for file in files}
    space = Space({name: load_method(name) for name in ("general", "pscost")} | rules)
    named: list[Choices] = [] if options.lean else [{}]
    named += [{**(LEAN if options.lean else {}), BRANCHING: name} for name in ("pscost", *rules)]
    candidates = named if rules else candidates_of(space, options.candidates)
    for family in options.families:
        solver = Solver(space, Path(options.solves) / f"{family}-{options.size}-{options.draw}")
        instances = benchmark_of(family, options).instances("design", options.instances)
        firsts = [solver.solve(instance, candidates[0], "whole", options.most) for instance in instances]
        for choices in candidates:
            for instance, first in zip(instances, firsts, strict=True):
                tenth_s = first["cpu_s"] / 10.0
                solver.solve(instance, choices, "whole", min(2.0 * first["cpu_s"], options.most))
                for kind in ("given", "limited", "cut"):
                    solver.solve(instance, choices, kind, tenth_s, first)
        names = [instance.name for instance in instances]
        for row in orders(solver.solves, names, list(map(choices_text, candidates))):
            emit({"family": family} | row)


if __name__ == "__main__":
    main()
