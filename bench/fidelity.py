"""How well each measure of F_LF predicts F_HF, over many rules of different origin.

The rules are the reference rules, those in the recorded answers of `--rules` (a directory of calls), and rules of the
offline grammar; of rules that choose alike in all recorded decisions one is kept, and `--rules-count` are drawn evenly
from the rest. Each is solved with on the design instances once for each of `--seeds`: independent measurements of F_HF.
One JSON object a line, first what the family's decisions are, then one for each measure with Kendall's tau between F_LF
and F_HF, its 95 % bootstrap interval over rules, and `top5`, the share of the five best rules by F_HF that are among
the five best by F_LF; all are means over the measurements. The variant `ceiling` is the same between two measurements:
how well F_HF predicts itself.

Decisions and solves are kept in the directory of `--store`; the same command goes on where it was stopped. F_HF by
`--cost time` is controlled, by `--cost nodes` it needs no control. Rules are scored in this process and without
a limit: read what `--rules` holds.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.stats import kendalltau

from bench import benchmark_of, decisions_of, emit, home_of, parse
from bench.acceptance import offline, recorded
from bife_core.config import CollectionConfig, HighFidelityConfig
from bife_core.decisions.recorded import Decisions
from bife_core.errors import DecisionsError, RuleError
from bife_core.fidelity.high import score_high
from bife_core.fidelity.measures import MEASURES, Yardstick, behaviour_of, chosen_rows, scores_of
from bife_core.fidelity.solving import Solving, measure_reference
from bife_core.methods.scorer import RuleMethod
from bife_core.rules import REFERENCE_RULES, Rejection, compile_rule
from bife_core.sandbox import WorkerPool
from bife_core.scip.solver import SolverConfig
from bife_core.store import Store

Values: TypeAlias = npt.NDArray[np.float64]

TOP = 5
RESAMPLES = 999


def main() -> None:
    options = parse(
        __doc__,
        instances=20,
        solver="default",
        seeds=[0, 1],
        rules=None,
        rules_count=80,
        decisions=1000,
        time_limit=60.0,
        cost="time",
        store=None,
        workers=1,
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
    rules = different_rules(decisions, options.rules_count, options.rules)
    instances = benchmark.instances("design", options.instances)
    measurements: list[Values] = []
    for seed in options.seeds:
        high = HighFidelityConfig(
            instances=len(instances), cost=options.cost, time_limit_s=options.time_limit, seed=seed
        )
        found: list[float] = []
        store = Store(home)
        solving = Solving(high, SolverConfig.model_validate(options.solver), pool, store)
        reference = measure_reference(instances, solving)
        for number, source in enumerate(rules):
            print(f"{family}, seed {seed}: rule {number + 1} of {len(rules)}", file=sys.stderr, flush=True)
            score = score_high(
                RuleMethod(name=f"rule-{number}", source=source), instances, solving, reference=reference
            )
            found.append(np.nan if score.f_hf is None else score.f_hf)
        measurements.append(np.array(found))
    sound = np.flatnonzero(np.isfinite(measurements).all(axis=0))
    f_hf = [values[sound] for values in measurements]
    lines: list[dict[str, Any]] = [
        {
            "decisions": len(decisions),
            "pruned": int(decisions.pruned.sum()),
            "tightenable": int(decisions.tightenable.sum()),
            "genuine": int(decisions.genuine.sum()),
            "without_f_hf": len(rules) - len(sound),
        }
    ]
    every = list(rules.values())
    lines += foretold_by_measures(decisions, [every[number] for number in sound], f_hf)
    if len(f_hf) > 1:
        lines.append({"variant": "ceiling"} | foretold(list(combinations(f_hf, 2))))
    return lines


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


def different_rules(decisions: Decisions, count: int, answers: str | None) -> dict[str, Values]:
    """Return sources of rules that choose differently, with their scores on the decisions."""
    sources = [rule.source for rule in REFERENCE_RULES.values()]
    if answers is not None:
        sources += recorded(Path(answers))
    sources += offline(max(count - len(sources), count // 4), seed=0)
    different: dict[str, tuple[str, Values]] = {}
    for source in sources:
        rule = compile_rule(source)
        if isinstance(rule, Rejection):
            continue
        try:
            scores = scores_of(rule, decisions)
        except RuleError:
            continue
        chosen = chosen_rows(scores, decisions.offsets)
        different.setdefault(behaviour_of(chosen, decisions.offsets), (source, scores))
    known = list(different.values())
    drawn = np.linspace(0, len(known) - 1, min(count, len(known))).round().astype(int)
    return dict(known[number] for number in drawn)


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
