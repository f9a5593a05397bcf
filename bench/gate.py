"""How often the champion gate promotes a rule that is no better than RPB, and one that is.

An experiment draws the times of a rule and of RPB on held-out instances; `--ratio` is the geometric mean of their
ratios (1: a null experiment). The logarithms of the ratios are

- normal (standard deviation 0.3), heavy (Student's t of 3 degrees of freedom, scale 0.3);
- rare: on 10 % of instances the rule takes many times as long (0.85 and 4.3 at ratio 1); often: on 20 % (0.8 and 2.4);
- beyond: the same with ratios beyond what the gate's bound takes into account (0.7, and 25 on 10 %);
- clustered: groups of four that share 60 % of the variance and come one of each after the other, as in a folder;
- turns: groups of three that change together (0.53, and 4.4 in 30 % of groups, standard deviation 0.2);
- censored: a fifth of all solves reach the time limit;
- seeds: two solves an instance, standard deviations 0.25 (instance) and 0.2 (each solve).

The evaluation's comparison and the product's gate judge each after all instances, and sequentially: at each of the
evaluation's looks. One JSON object a line: {ratio, kind, instances, experiments, promoted, sequentially,
mean_instances}, the last of a sequential evaluation without its stop for futility.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from bench import emit, parser_of
from bife_core.base.stats import CONFIDENCE, UpperBound, confidence_of
from bife_core.measure.evaluation.comparison import Ratio, compare_methods
from bife_core.measure.evaluation.metrics import solve_frame
from bife_core.measure.evaluation.summary import looks
from bife_core.registry.evidence import Evidence, gate

LEVEL = confidence_of(1, CONFIDENCE)
"""Level of the first use of a test set."""
RPB_S = 10.0
_Logs = NDArray[np.float64]


def _mixed(share: float, good: float) -> Callable[[int, float, np.random.Generator], _Logs]:
    def draw(count: int, log: float, rng: np.random.Generator) -> _Logs:
        bad = rng.random((count, 1)) < share
        disaster = -(1 - share) * math.log(good) / share
        return log + np.where(bad, disaster, math.log(good)) + rng.normal(0, 0.05, (count, 1))

    return draw


def _clustered(count: int, log: float, rng: np.random.Generator) -> _Logs:
    of_group = rng.normal(0, 0.3 * math.sqrt(0.6), (_groups("clustered", count), 1))
    return log + np.tile(of_group, (4, 1))[:count] + rng.normal(0, 0.3 * math.sqrt(0.4), (count, 1))


def _turns(count: int, log: float, rng: np.random.Generator) -> _Logs:
    of_group = _mixed(0.3, 0.53)(_groups("turns", count), log, rng)
    return np.tile(of_group, (3, 1))[:count] + rng.normal(0, 0.2, (count, 1))


def _groups(kind: str, count: int) -> int:
    return math.ceil(count / {"clustered": 4, "turns": 3}.get(kind, 1))


KINDS: Final[Mapping[str, Callable[[int, float, np.random.Generator], _Logs]]] = {
    "normal": lambda count, log, rng: log + rng.normal(0, 0.3, (count, 1)),
    "heavy": lambda count, log, rng: log + 0.3 * rng.standard_t(3, (count, 1)),
    "rare": _mixed(0.1, 0.85),
    "often": _mixed(0.2, 0.8),
    "beyond": _mixed(0.1, 0.7),
    "clustered": _clustered,
    "turns": _turns,
    "censored": lambda count, log, rng: log + rng.normal(0, 0.212, (count, 1)),
    "seeds": lambda count, log, rng: log + rng.normal(0, 0.25, (count, 1)) + rng.normal(0, 0.2, (count, 2)),
}
"""How the logarithms of the rule's times are drawn, by instance and seed, where RPB takes 1 s on all instances."""


def drawn(
    kind: str, count: int, ratio: float, rng: np.random.Generator
) -> tuple[list[dict[str, Any]], float]:
    """Return the rows of an evaluation and its time limit."""
    rule = KINDS[kind](count, math.log(ratio), rng)
    rpb = np.zeros_like(rule)
    limit = math.inf
    if kind == "censored":
        rpb += rng.normal(0, 0.212, rpb.shape)
        hardness = rng.normal(0, 1, (count, 1))
        rule, rpb, limit = rule + hardness, rpb + hardness, 0.86
    elif kind == "seeds":
        rpb += rng.normal(0, 0.2, rpb.shape)
    rows = []
    for number in range(count):
        group = f"g{number % _groups(kind, count)}"
        for seed in range(rule.shape[1]):
            for method, logs in (("rule", rule), ("relpscost", rpb)):
                cpu_s = RPB_S * math.exp(min(logs[number, seed], limit))
                rows.append(
                    {
                        "instance": f"i{number}", "digest": f"i{number}", "group": group, "seed": seed,
                        "method": method, "status": "timelimit" if logs[number, seed] > limit else "optimal",
                        "cpu_s": cpu_s, "wall_s": cpu_s, "nodes": 10, "fair_nodes": 10, "lp_iterations": 10,
                        "gap": 0.0, "primal_dual_integral": 1.0,
                    }
                )  # fmt: skip
    return rows, RPB_S * math.exp(limit)


def promoted(rows: list[dict[str, Any]], limit_s: float) -> bool:
    """Whether the gate makes the rule champion where there is none."""
    if not may_pass(rows):
        return False
    frame = solve_frame(rows, limit_s if math.isfinite(limit_s) else 1000.0)
    (comparison,) = compare_methods(frame, ("rule",), "relpscost", confidence=LEVEL)
    evidence = Evidence(
        **comparison.model_dump(include={"baseline", *Ratio.model_fields}),
        sha="a", benchmark="null", size="test", p_value=comparison.p_adjusted,
        seeds=1, evaluation_run="", test_digest="",
    )  # fmt: skip
    return gate(evidence, None).promote


def may_pass(rows: list[dict[str, Any]]) -> bool:
    """Whether the bound of the ratio is below 1: the gate asks for it too, and it takes less time than the rest."""
    logs: dict[str, list[float]] = {}
    for rule, rpb in zip(rows[::2], rows[1::2], strict=True):
        logs.setdefault(rule["group"], []).append(math.log(rule["cpu_s"] / rpb["cpu_s"]))
    means = [float(np.mean(group)) for group in logs.values()]
    return UpperBound.of(means, LEVEL).missing(0.0) == 0.0


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--experiments", type=int, default=2000)
    parser.add_argument("--instances", type=int, nargs="+", default=[6, 8, 12, 20, 40, 60])
    parser.add_argument("--ratio", type=float, default=1.0, help="geometric mean of the ratios")
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for kind in options.kinds:
        for instances in options.instances:
            rng = np.random.default_rng(options.seed)
            at_end = sequentially = solved = 0
            for _ in range(options.experiments):
                rows, limit_s = drawn(kind, instances, options.ratio, rng)
                each = len(rows) // instances
                sizes = [size for size in looks(instances) if promoted(rows[: size * each], limit_s)]
                at_end += instances in sizes
                sequentially += bool(sizes)
                solved += min(sizes, default=instances)
            count = options.experiments
            line = {"ratio": options.ratio, "kind": kind, "instances": instances, "experiments": count}
            line |= {"promoted": at_end / count, "sequentially": sequentially / count}
            emit(line | {"mean_instances": round(solved / count, 1)})


if __name__ == "__main__":
    main()
