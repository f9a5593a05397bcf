"""SCIP's own statistics of a few instances under a short limit, short enough for a prompt."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Final

from bife_core.instances.formulation import formulation
from bife_core.solver.scip.reader import read_model
from bife_core.solver.scip.solve import SolveSettings, apply, optimize

_TABLES: Final = (
    ("Presolving", "presolver", "exec_time", "calls", "fixed_vars", "deleted_constraints", "changed_coefficients"),
    ("Separation", "separator", "exec_time", "calls", "cuts_found", "cuts_applied"),
    ("Separation by constraint", "constraint", "separation_time", "separation_calls", "cuts_found", "cuts_applied"),
    ("Heuristics", "heuristics", "time", "calls", "solutions_found", "best_solutions_found"),
    ("Propagation", "propagator", "total_time", "calls", "domreds_found", "cutoffs"),
    ("Branching", "branchrules", "time", "nlpcalls", "nchildren", "ndomreds", "ncutoffs"),
)  # fmt: skip
"""Heading, section of SCIP's statistics, and what is shown of eight plugins at most: time, calls, successes."""


def described(instances: Sequence[str], settings: dict[str, Any]) -> dict[str, str]:
    """Solve instances, in a worker, as `SolveSettings` say; return their formulation and SCIP's statistics as texts."""
    paths = [Path(path) for path in instances]
    solved = [_solved(path, SolveSettings.model_validate(settings)) for path in paths]
    lines = [_summary(number, solve) for number, solve in enumerate(solved, start=1)]
    for heading, section, *shown in _TABLES:
        rows = list[tuple[float, str]]()
        for name in solved[0][section]["plugins"]:
            plugins = [solve[section]["plugins"].get(name, {}) for solve in solved]
            numbers = [[plugin.get(what, 0) for what in shown] for plugin in plugins]
            if any(seconds or any(successes) for seconds, _, *successes in numbers):
                cells = " | ".join("/".join(f"{number:.4g}" for number in row) for row in numbers)
                rows.append((-math.fsum(row[0] for row in numbers), f"- {name} {cells}"))
        lines += [f"{heading}, {'/'.join(shown)}:", *(row for _, row in sorted(rows)[:8])]
    return {"instances": "\n- ".join(formulation(paths)), "statistics": "\n".join(lines)}


def _solved(path: Path, settings: SolveSettings) -> dict[str, Any]:
    model = read_model(path)
    apply(settings, model)
    optimize(model, f"solving {path.name}")
    with NamedTemporaryFile(suffix=".json") as file:
        model.writeStatisticsJson(file.name)
        statistics = json.loads(Path(file.name).read_bytes())
    for name, handler in statistics["constraint"]["plugins"].items():
        handler |= statistics["constiming"]["plugins"].get(name, {})
    return {**statistics, "restarts": model.getNRuns() - 1}


def _summary(number: int, solve: dict[str, Any]) -> str:
    tree, root, solution, lp = (solve[name] for name in ("tree", "root", "solution", "lp"))
    first, primal = root["first_lp_value"], solution["primal_bound"]
    closed = (root["final_dual_bound"] - first) / (primal - first) if primal != first else math.nan
    share = f"{closed:.2f}" if 0 <= closed <= 1 else "unknown"  # a root that was cut off has no bound
    return (
        f"- instance {number}: {solve['status']['status']} after {solve['timing']['solving_time']:.1f} s; "
        f"final gap {solution['gap']:.4g}; share of the gap closed at the root {share}; "
        f"restarts {solve['restarts']}; nodes {tree['total_nodes']['total']}; "
        f"greatest depth {tree['depth']['max_depth_total']}; LP iterations {lp['dual_lp']['iterations']}, "
        f"of strong branching {lp['strongbranch_lp']['iterations']}"
    )
