"""How well each measure of F_LF predicts F_HF, and by how much rules differ, over many of different origin.

The rules are the reference rules, those in the recorded answers of `--rules` (directories of calls), and rules of the
offline grammar; of rules that choose alike in all recorded decisions one is kept, and `--rules-count` are drawn evenly
from the rest. With them go `--methods` (names or files, `{family}` is the family; a file is of the kind that its name
ends in). Each is solved with on the design instances once for each of `--seeds`: independent measurements of F_HF.
One JSON object a line, first what the family's decisions are, then one for each measure with Kendall's tau between F_LF
and F_HF, its 95 % bootstrap interval over rules, and `top5`, the share of the five best rules by F_HF that are among
the five best by F_LF; all are means over the measurements. The variant `ceiling` is the same between two measurements:
how well F_HF predicts itself. Then {rule, kind, ratio} of each, its cost over that of `general` in the geometric mean,
and {kind, rules, ratio, ci_low, ci_high} of the best of each kind, chosen on every second instance and compared with
`general` on the others. In the last line `spread` is the standard deviation of the rules' log costs without what two
measurements of one rule differ by, which is `noise`; `spread_best` that of the better half.

Decisions and solves are kept in the directory of `--store`; the same command goes on where it was stopped. F_HF by
`--cost time` is controlled, by `--cost nodes` it needs no control. Rules are scored in this process and without
a limit: read what `--rules` holds.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.stats import kendalltau

from bench import benchmark_of, decisions_of, emit, home_of, parse
from bench.acceptance import offline, recorded
from bife_core.base.errors import DecisionsError, RuleError
from bife_core.base.stats import ratio_interval
from bife_core.language.rules import REFERENCE_RULES, Rejection, compile_rule
from bife_core.measure.choices import Yardstick, behaviour_of, chosen_rows, scores_of
from bife_core.measure.context import SolveContext, measure_reference
from bife_core.measure.decisions.recorded import Decisions
from bife_core.measure.high import score_high
from bife_core.measure.low_measures import MEASURES
from bife_core.run.config import CollectionConfig, HighFidelityConfig
from bife_core.solver.methods.base import Method
from bife_core.solver.methods.loading import load_method
from bife_core.solver.methods.scorer import RuleMethod
from bife_core.solver.scip.settings import SolverConfig
from bife_core.store import Store
from bife_core.workers import WorkerPool

Values: TypeAlias = npt.NDArray[np.float64]

TOP = 5
GENERAL_RULE = "general"
RESAMPLES = 999


@dataclass(frozen=True)
class Rated:
    """A method to measure: its kind, and the scores of all recorded candidates if it is a rule."""

    kind: str
    method: Method
    scores: Values | None = None


def main() -> None:
    options = parse(
        __doc__,
        instances=20,
        solver="default",
        seeds=[0, 1],
        rules=[],
        methods=[],
        rules_count=80,
        decisions=1000,
        time_limit=60.0,
        cost="time",
        store=None,
        workers=1,
    )
    if options.instances < 2:
        sys.exit(
            "--instances must be at least 2: the best of a kind is chosen on one half and compared on the other."
        )
    with home_of(options.store) as home, WorkerPool(options.workers) as pool:
        for family in options.families:
            for line in measured(family, options, home, pool):
                emit({"family": family} | line)


def measured(family: str, options: Any, home: Path, pool: WorkerPool) -> list[dict[str, Any]]:
    """Return the lines of one family."""
    benchmark = benchmark_of(family, options)
    collection = CollectionConfig(decisions=options.decisions)
    decisions = decisions_of(benchmark, collection, home, pool, options.solver)
    rated = different_rules(decisions, options.rules_count, options.rules)
    for reference in options.methods:
        method = load_method(reference.replace("{family}", family))
        kind = Path(reference).stem.rpartition("-")[2]
        rated.append(Rated(kind, method))
    instances = benchmark.instances("design", options.instances)
    measurements: list[Values] = []
    for seed in options.seeds:
        high = HighFidelityConfig(
            instances=len(instances), cost=options.cost, time_limit_s=options.time_limit, seed=seed
        )
        solving = SolveContext(high, SolverConfig.model_validate(options.solver), pool, Store(home))
        reference = measure_reference(instances, solving)
        rows: list[Values] = []
        for number, one in enumerate(rated):
            print(f"{family}, seed {seed}: {number + 1} of {len(rated)}", file=sys.stderr, flush=True)
            score = score_high(one.method, instances, solving, reference=reference)
            whole = score.f_hf is not None and None not in score.costs
            rows.append(np.array(score.costs if whole else [None] * len(instances), dtype=float))
        measurements.append(np.array(rows))
    costs = np.stack(measurements, axis=1)  # methods x seeds x instances
    sound = np.flatnonzero(np.isfinite(costs).all(axis=(1, 2)))
    costs, known = costs[sound], [rated[number] for number in sound]
    lines: list[dict[str, Any]] = [
        {
            "decisions": len(decisions),
            "pruned": int(decisions.pruned.sum()),
            "tightenable": int(decisions.tightenable.sum()),
            "genuine": int(decisions.genuine.sum()),
            "without_f_hf": len(rated) - len(sound),
        }
    ]
    rules = [number for number, one in enumerate(known) if one.scores is not None]
    scores = [one.scores for one in known if one.scores is not None]
    f_hf = list(-costs[rules].mean(axis=2).T)
    lines += foretold_by_measures(decisions, scores, f_hf)
    if len(f_hf) > 1:
        lines.append({"variant": "ceiling"} | foretold(list(combinations(f_hf, 2))))
    return lines + differences(known, np.log(costs))


def differences(known: Sequence[Rated], logs: Values) -> list[dict[str, Any]]:
    """Return a line for each method, the best of each kind, and by how much all differ, from logarithms of costs."""
    general = next(number for number, one in enumerate(known) if one.method.name == GENERAL_RULE)
    beside = (logs - logs[general]).mean(axis=1)  # methods x instances
    lines: list[dict[str, Any]] = [
        {"rule": one.method.name, "kind": one.kind, "ratio": round(float(np.exp(row.mean())), 3)}
        for one, row in zip(known, beside, strict=True)
    ]
    for kind in dict.fromkeys(one.kind for one in known):
        of_kind = [number for number, one in enumerate(known) if one.kind == kind]
        best = min(of_kind, key=lambda number: beside[number, ::2].mean())
        found = ratio_interval(beside[best, 1::2])
        numbers = {"ratio": found.ratio, "ci_low": found.low, "ci_high": found.high}
        line = {"kind": kind, "rules": len(of_kind), "best": known[best].method.name}
        lines.append(line | {name: value and round(value, 3) for name, value in numbers.items()})
    means = logs.mean(axis=2)  # methods x seeds
    noise = float(np.sqrt(means.var(axis=1, ddof=1).mean())) if means.shape[1] > 1 else float("nan")
    order = np.argsort(means.mean(axis=1))

    def spread(rows: npt.NDArray[np.int64]) -> float:
        beyond = means[rows].mean(axis=1).var(ddof=1) - noise**2 / means.shape[1]
        return round(float(np.sqrt(max(beyond, 0.0))), 3)

    better = order[: max(len(order) // 2, 2)]
    return [*lines, {"noise": round(noise, 3), "spread": spread(order), "spread_best": spread(better)}]


def foretold_by_measures(
    decisions: Decisions, scores: Sequence[Values], f_hf: Sequence[Values]
) -> list[dict[str, Any]]:
    """Return a line for each measure of F_LF, from the rules' scores of all candidates."""
    lines: list[dict[str, Any]] = []
    for measure in MEASURES:
        try:
            yardstick = Yardstick(decisions, measure)
        except DecisionsError as error:
            lines.append({"variant": measure, "reason": str(error)})
            continue
        f_lf = np.array([yardstick.of_scores(each) for each in scores])
        lines.append({"variant": measure} | foretold([(f_lf, one) for one in f_hf]))
    return lines


def different_rules(decisions: Decisions, count: int, answers: Sequence[str]) -> list[Rated]:
    """Return rules that choose differently, with their scores on the decisions; `general` is always among them."""
    sources = [("reference", name, rule.source) for name, rule in REFERENCE_RULES.items()]
    for directory in map(Path, answers):
        name = "-".join(directory.parts[-2:])
        sources += [("model", f"{name}-{at}", source) for at, source in enumerate(recorded(directory))]
    drawn = offline(max(count - len(sources), count // 4), seed=0)
    sources += [("grammar", f"grammar-{at}", source) for at, source in enumerate(drawn)]
    sources.sort(key=lambda one: one[1] != GENERAL_RULE)
    different: dict[str, Rated] = {}
    for kind, name, source in sources:
        rule = compile_rule(source)
        if isinstance(rule, Rejection):
            continue
        try:
            scores = scores_of(rule, decisions)
        except RuleError:
            continue
        chosen = chosen_rows(scores, decisions.offsets)
        rated = Rated(kind, RuleMethod(name=name, source=source), scores)
        different.setdefault(behaviour_of(chosen, decisions.offsets), rated)
    known = list(different.values())
    return [known[at] for at in np.linspace(0, len(known) - 1, min(count, len(known))).round().astype(int)]


def foretold(pairs: Sequence[tuple[Values, Values]]) -> dict[str, Any]:
    """Return how well the first values of each pair predict the order of the second, as means over pairs."""
    count = len(pairs[0][0])
    rng = np.random.default_rng(0)
    resampled = [tau(pairs, rng.integers(0, count, count)) for _ in range(RESAMPLES)]
    low, high = (
        np.nanquantile(resampled, [0.025, 0.975]) if np.isfinite(resampled).any() else (np.nan, np.nan)
    )
    found = {
        "tau": tau(pairs, np.arange(count)),
        "low": low,
        "high": high,
        f"top{TOP}": np.mean([recall(given, truth) for given, truth in pairs]),
    }
    rounded = {name: round(float(value), 3) if np.isfinite(value) else None for name, value in found.items()}
    return rounded | {"rules": count}


def tau(pairs: Sequence[tuple[Values, Values]], rows: npt.NDArray[np.int64]) -> float:
    """Return Kendall's tau-b over the given rules; NaN where all values are equal."""
    return float(np.mean([kendalltau(given[rows], truth[rows]).statistic for given, truth in pairs]))


def recall(given: Values, truth: Values) -> float:
    """Return which share of the best by `truth` are among the best by `given`, where ties share the last places."""
    top = min(TOP, len(given))
    last = np.sort(given)[-top]
    above, tied = given > last, given == last
    placed = above + tied * (top - above.sum()) / tied.sum()
    return float(placed[np.argsort(-truth, kind="stable")[:top]].sum() / top)


if __name__ == "__main__":
    main()
