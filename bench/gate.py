"""How often the champion gate promotes a rule that is no better than RPB.

In a null experiment the times of rule and RPB on each held-out instance differ by noise alone: the logarithms of their
ratios are drawn from a symmetric distribution, with light tails (normal) or heavy ones (Student's t of 3 degrees of
freedom). Each goes through the comparison of an evaluation and the product's own gate. One JSON object a line:
{instances, tails, experiments, promoted, by_interval_alone}, where by_interval_alone is the share whose whole interval
lies below 1, which is what a gate without the exact test would promote.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bench import emit, parser_of
from bife_core.evaluation.comparing import Comparison, compare
from bife_core.evaluation.metrics import solve_frame
from bife_core.stats import CONFIDENCE, confidence_of
from tasks.registry import Evidence, gate

LEVEL = confidence_of(1, CONFIDENCE)
"""Level of the first use of a test set."""

SPREAD = 0.3
"""Standard deviation, or scale, of the logarithm of a ratio."""


def null_comparison(instances: int, rng: np.random.Generator, *, heavy: bool = False) -> Comparison:
    """Return the comparison of a rule that is as fast as RPB but for noise."""
    logs = SPREAD * (rng.standard_t(3, instances) if heavy else rng.standard_normal(instances))
    rows: list[dict[str, Any]] = []
    for number, log in enumerate(logs):
        for method, cpu_s in (("rule", 10.0 * math.exp(log)), ("relpscost", 10.0)):
            rows.append(
                {
                    "instance": f"i{number}", "digest": f"i{number}", "seed": 0, "method": method,
                    "status": "optimal", "cpu_s": cpu_s, "wall_s": cpu_s, "nodes": 10, "fair_nodes": 10,
                    "lp_iterations": 10, "gap": 0.0, "primal_dual_integral": 1.0,
                }
            )  # fmt: skip
    (found,) = compare(solve_frame(rows), ("rule",), "relpscost", confidence=LEVEL)
    return found


def promoted(found: Comparison) -> bool:
    """Whether the gate makes the rule of a comparison champion where there is none."""
    evidence = Evidence(
        sha="a", benchmark="null", size="test", ratio=found.ratio, ci_low=found.ci_low, ci_high=found.ci_high,
        p_value=found.p_adjusted, confidence=found.confidence, baseline=found.baseline, instances=found.instances,
        groups=found.groups, seeds=1, solves=found.solves, missing=found.missing, proofs=found.proofs,
        baseline_proofs=found.baseline_proofs, evaluation_run="", test_digest="",
    )  # fmt: skip
    return gate(evidence, None).promote


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--experiments", type=int, default=2000)
    parser.add_argument("--instances", type=int, nargs="+", default=[6, 8, 20])
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for instances in options.instances:
        for heavy in (False, True):
            rng = np.random.default_rng(options.seed)
            found = [null_comparison(instances, rng, heavy=heavy) for _ in range(options.experiments)]
            alone = sum(one.ci_high is not None and one.ci_high < 1 for one in found)
            line = {
                "instances": instances,
                "tails": "heavy" if heavy else "normal",
                "experiments": options.experiments,
                "promoted": sum(map(promoted, found)) / options.experiments,
                "by_interval_alone": alone / options.experiments,
            }
            emit(line)


if __name__ == "__main__":
    main()
