"""What BiFE and its rivals cost on the same instances, and how good the rules are that they find.

Every search runs with the offline generator, the same budget of samples and the same instances, in a home that is
new and is removed at the end; the rule of each is then compared with RPB on held-out instances. The first of
`--seeds` is the seed of the searches; SCIP solves held-out instances with all of them. One JSON object a line: the
cost of each search by part, its best F_LF and F_HF, and the time ratio to RPB; then per family the rule-design time of
the ablation and of LLM4Branch over BiFE's, the paper's two ratios, and the same for CPU seconds in the solver alone.
Times are seconds of work (docs/searches.md).
"""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any

from bench.options import parse
from bife_core.config import PipelineConfig, preset, with_overrides
from bife_core.search import SEARCHES

ABLATION, TUNER, PAPER = "bife_without_f_lf", "llm4branch", "bife"


def main() -> None:
    options = parse(
        __doc__,
        instances=20,
        samples=100,
        decisions=1000,
        held_out=20,
        time_limit=60.0,
        tuning_calls=100,
        workers=1,
    )
    with tempfile.TemporaryDirectory(prefix="bife-bench-", ignore_cleanup_errors=True) as home:
        # Before anything imports `tasks`, which reads them.
        os.environ["BIFE_HOME"] = home
        os.environ.pop("MLFLOW_TRACKING_URI", None)
        for family in options.families:
            spent: dict[str, dict[str, Any]] = {}
            for method in SEARCHES:
                row = measure(configured(family, method, options))
                spent[method] = row
                print(json.dumps({"family": family, "search": method, **row}), flush=True)
            ratios = {
                f"{name}_over_bife": {
                    "design_s": round(spent[name]["design_s"] / spent[PAPER]["design_s"], 2),
                    "solver_s": round(spent[name]["solver_s"] / spent[PAPER]["solver_s"], 2),
                }
                for name in (ABLATION, TUNER)
            }
            print(json.dumps({"family": family, **ratios}), flush=True)


def configured(family: str, method: str, options: Any) -> PipelineConfig:
    """Return the settings of one search; those of the paper but for what the options scale."""
    scale = {
        "instances.benchmark": family,
        "instances.size": options.size,
        "collection.decisions": options.decisions,
        "search.method": method,
        "search.samples": options.samples,
        "search.initial": min(16, options.samples),
        "search.seed": options.seeds[0],
        "search.llm4branch.screening_limit_s": options.time_limit,
        "search.llm4branch.tuning_calls": options.tuning_calls,
        "search.llm4branch.tuning_initial": max(1, min(10, options.tuning_calls // 4)),
        "high.instances": options.instances,
        "high.time_limit_s": options.time_limit,
        "evaluation.instances": options.held_out,
        "evaluation.seeds": tuple(options.seeds),
        "workers": options.workers,
    }
    return with_overrides(preset("paper"), scale)


def measure(config: PipelineConfig) -> dict[str, Any]:
    """Run a search and compare its rule with RPB."""
    from flows.evaluation import evaluation
    from flows.evolution import evolution
    from flows.running import run

    found = run(None, evolution, config)
    cost = found.cost
    row: dict[str, Any] = {
        "samples": cost.samples,
        "calls": cost.calls,
        "failures": found.failures,
        "trials": cost.trials,
        "solved": cost.solved,
        **{f"{part}_s": round(seconds, 1) for part, seconds in cost.parts.items()},
        "design_s": round(cost.design_s, 1),
        "solver_s": round(cost.solver_s, 1),
        "best": found.best.id if found.best is not None else None,
        "f_lf": found.best.f_lf if found.best is not None else None,
        "f_hf": found.best.f_hf if found.best is not None else None,
    }
    if found.best is None:
        return row
    compared = run(None, evaluation, config, str(found.best_rule)).summary
    return row | {
        "ratio_to_rpb": round(compared.ratio, 3),
        "ci_low": compared.ci_low and round(compared.ci_low, 3),
        "ci_high": compared.ci_high and round(compared.ci_high, 3),
        "held_out": compared.instances,
    }


if __name__ == "__main__":
    main()
