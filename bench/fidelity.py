"""How well each measure of F_LF predicts F_HF, and how much rules of different origin differ.

The rules are the reference rules, those in the recorded answers of `--rules` (directories of calls), and rules of the
offline grammar: `--rules-count` drawn evenly from those that choose differently. `--methods` go with them (names or
files, `{family}` is the family; a file is of the kind that its name ends in). Each solves the design instances once for
each of `--seeds`: independent measurements of F_HF. One JSON object a line: what the decisions are; for each measure
Kendall's tau between F_LF and F_HF with its 95 % bootstrap interval over rules, and `top5`, the share of the five best
rules by F_HF among the five best by F_LF, means over the measurements (`ceiling`: of F_HF by itself); {rule, kind,
ratio} of each, its cost over that of `general`; {kind, rules, ratio, ci_low, ci_high} of the best of each kind, chosen
on every second instance and compared on the others; last the standard deviation of log costs between rules (`spread`,
`spread_best` of the better half) and between measurements of one (`noise`).

`--store` keeps decisions and solves, and the same command goes on where it stopped. F_HF by `--cost nodes` does not
depend on the machine's load. Rules are scored in this process, without a limit: read what `--rules` holds.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.stats import kendalltau

import bife_core
from bench import benchmark_of, context_of, decisions_of, emit, home_of, interval_of, parse, rounded
from bife_core.extend import (
    GENERATORS,
    MEASURES,
    REFERENCE_RULES,
    BaseSearch,
    CollectionConfig,
    GeneratorConfig,
    PromptContext,
    Sample,
    SampleRequest,
    chosen_rows,
    method_of,
)
from bife_core.measure.choices import Yardstick, behaviour_of, scores_of
from bife_core.measure.context import measure_reference
from bife_core.measure.high import score_high
from bife_core.search.generators.account import recorded_calls
from bife_core.search.generators.parsing import parse_answer

Values: TypeAlias = npt.NDArray[np.float64]

TOP = 5
GENERAL_RULE = "general"
RESAMPLES = 999
POOL = 8
"""Rules of the grammar that the next are bred from."""


@dataclass(frozen=True)
class Rated:
    """A method to measure: its kind, and the scores of all recorded candidates if it is a rule."""

    kind: str
    method: bife_core.Method
    scores: Values | None = None


def main() -> None:
    options = parse(
        __doc__, instances=20, solver="default", seeds=[0, 1], rules=[], methods=[], rules_count=80,
        decisions=1000, time_limit=60.0, cost="time", store=None, workers=1,
    )  # fmt: skip
    if options.instances < 2:
        sys.exit(
            "--instances must be at least 2: one half chooses the best of a kind, the other compares it."
        )
    with home_of(options.store) as home, bife_core.WorkerPool(options.workers) as pool:
        for family in options.families:
            for line in measured(family, options, home, pool):
                emit({"family": family} | line)


def measured(family: str, options: Any, home: Path, pool: bife_core.WorkerPool) -> list[dict[str, Any]]:
    benchmark = benchmark_of(family, options)
    collection = CollectionConfig(decisions=options.decisions)
    decisions = decisions_of(benchmark, collection, home, pool, options.solver)
    rated = different_rules(decisions, options.rules_count, options.rules)
    for reference in options.methods:
        method = bife_core.load_method(reference.replace("{family}", family))
        kind = Path(reference).stem.rpartition("-")[2]
        rated.append(Rated(kind, method))
    instances = benchmark.instances("design", options.instances)
    measurements: list[Values] = []
    for seed in options.seeds:
        limits = {"instances": len(instances), "cost": options.cost, "time_limit_s": options.time_limit}
        solving = context_of(pool, bife_core.Store(home), options.solver, **limits, seed=seed)
        reference = measure_reference(instances, solving)
        rows: list[Values] = []
        for number, entry in enumerate(rated):
            print(f"{family}, seed {seed}: {number + 1} of {len(rated)}", file=sys.stderr, flush=True)
            score = score_high(entry.method, instances, solving, reference=reference)
            complete = score.f_hf is not None and None not in score.costs
            rows.append(np.array(score.costs if complete else [None] * len(instances), dtype=float))
        measurements.append(np.array(rows))
    costs = np.stack(measurements, axis=1)  # methods x seeds x instances
    sound = np.flatnonzero(np.isfinite(costs).all(axis=(1, 2)))
    costs, methods = costs[sound], [rated[number] for number in sound]
    kinds = {name: int(getattr(decisions, name).sum()) for name in ("pruned", "tightenable", "genuine")}
    lines = [{"decisions": len(decisions)} | kinds | {"without_f_hf": len(rated) - len(sound)}]
    rules = [number for number, entry in enumerate(methods) if entry.scores is not None]
    scores = [entry.scores for entry in methods if entry.scores is not None]
    f_hf = list(-costs[rules].mean(axis=2).T)
    lines += foretold_by_measures(decisions, scores, f_hf)
    if len(f_hf) > 1:
        lines.append({"variant": "ceiling"} | foretold(list(combinations(f_hf, 2))))
    return lines + differences(methods, np.log(costs))


def differences(methods: Sequence[Rated], logs: Values) -> list[dict[str, Any]]:
    """Return a line for each method, the best of each kind, and by how much all differ, from logarithms of costs."""
    general = next(number for number, entry in enumerate(methods) if entry.method.name == GENERAL_RULE)
    beside = (logs - logs[general]).mean(axis=1)  # methods x instances
    lines: list[dict[str, Any]] = [
        {"rule": entry.method.name, "kind": entry.kind, "ratio": round(float(np.exp(row.mean())), 3)}
        for entry, row in zip(methods, beside, strict=True)
    ]
    for kind in dict.fromkeys(entry.kind for entry in methods):
        of_kind = [number for number, entry in enumerate(methods) if entry.kind == kind]
        best = min(of_kind, key=lambda number: beside[number, ::2].mean())
        line = {"kind": kind, "rules": len(of_kind), "best": methods[best].method.name}
        lines.append(line | interval_of(beside[best, 1::2]))
    means = logs.mean(axis=2)  # methods x seeds
    noise = float(np.sqrt(means.var(axis=1, ddof=1).mean())) if means.shape[1] > 1 else float("nan")
    order = np.argsort(means.mean(axis=1))

    def spread(rows: npt.NDArray[np.int64]) -> float:
        beyond = means[rows].mean(axis=1).var(ddof=1) - noise**2 / means.shape[1]
        return round(float(np.sqrt(max(beyond, 0.0))), 3)

    better = order[: max(len(order) // 2, 2)]
    return [*lines, {"noise": round(noise, 3), "spread": spread(order), "spread_best": spread(better)}]


def foretold_by_measures(
    decisions: bife_core.Decisions, scores: Sequence[Values], f_hf: Sequence[Values]
) -> list[dict[str, Any]]:
    """Return a line for each measure of F_LF, from the rules' scores of all candidates."""
    lines: list[dict[str, Any]] = []
    for measure in MEASURES:
        try:
            yardstick = Yardstick(decisions, measure)
        except bife_core.BifeError as error:
            lines.append({"variant": measure, "reason": str(error)})
            continue
        f_lf = np.array([yardstick.of_scores(each) for each in scores])
        lines.append({"variant": measure} | foretold([(f_lf, values) for values in f_hf]))
    return lines


def different_rules(decisions: bife_core.Decisions, count: int, answers: Sequence[str]) -> list[Rated]:
    """Return rules that choose differently, with their scores on the decisions; `general` is always among them."""
    sources = [("reference", name, rule.source) for name, rule in REFERENCE_RULES.items()]
    for directory in map(Path, answers):
        name = "-".join(directory.parts[-2:])
        sources += [("model", f"{name}-{at}", source) for at, source in enumerate(recorded(directory))]
    drawn = offline(max(count - len(sources), count // 4), seed=0)
    sources += [("grammar", f"grammar-{at}", source) for at, source in enumerate(drawn)]
    sources.sort(key=lambda entry: entry[1] != GENERAL_RULE)
    different: dict[str, Rated] = {}
    for kind, name, source in sources:
        rule = bife_core.compile_rule(source)
        if isinstance(rule, bife_core.Rejection):
            continue
        try:
            scores = scores_of(rule, decisions)
        except bife_core.BifeError:
            continue
        chosen = chosen_rows(scores, decisions.offsets)
        rated = Rated(kind, method_of(source, name), scores)
        different.setdefault(behaviour_of(chosen, decisions.offsets), rated)
    rules = list(different.values())
    return [rules[at] for at in np.linspace(0, len(rules) - 1, min(count, len(rules))).round().astype(int)]


def recorded(directory: Path) -> Iterator[str]:
    """Yield the rules in the recorded answers in a directory of calls; an answer without one is left out."""
    for call in recorded_calls(directory):
        source = parse_answer(call.answer).source
        if source is not None:
            yield source


def offline(count: int, seed: int) -> Iterator[str]:
    """Yield rules of all operators, children of children included."""
    generator = GENERATORS.find("offline")(GeneratorConfig(), None)
    operators = (BaseSearch.founding, *BaseSearch.operators)

    def written(operator: str, number: int, parents: tuple[str, ...]) -> str:
        samples = tuple(
            Sample(id=str(i), generation=0, operator="i1", source=source) for i, source in enumerate(parents)
        )
        about = {"id": f"{operator}-{number}", "generation": 1, "operator": operator, "seed": seed + number}
        request = SampleRequest.model_validate(about | {"parents": samples})
        source = generator.generate(request, PromptContext(benchmark="any")).source
        assert source is not None
        return source

    pool = [written("i1", number, ()) for number in range(POOL)]
    for number in range(count):
        operator = operators[number % len(operators)]
        parents = (pool[3 * number % POOL], pool[(5 * number + 1) % POOL])
        pool[number % POOL] = written(operator, number, parents[: 2 if operator.startswith("e") else 1])
        yield pool[number % POOL]


def foretold(pairs: Sequence[tuple[Values, Values]]) -> dict[str, Any]:
    """Return how well the first values of each pair predict the order of the second, as means over pairs."""
    count = len(pairs[0][0])
    rng = np.random.default_rng(0)
    resampled = [tau(pairs, rng.integers(0, count, count)) for _ in range(RESAMPLES)]
    low, high = (
        np.nanquantile(resampled, [0.025, 0.975]) if np.isfinite(resampled).any() else (np.nan, np.nan)
    )
    numbers = {"tau": tau(pairs, np.arange(count)), "low": low, "high": high}
    numbers[f"top{TOP}"] = np.mean([recall(predicted, truth) for predicted, truth in pairs])
    return rounded(numbers) | {"rules": count}


def tau(pairs: Sequence[tuple[Values, Values]], rows: npt.NDArray[np.int64]) -> float:
    """Return Kendall's tau-b over the given rules; NaN where all values are equal."""
    return float(np.mean([kendalltau(predicted[rows], truth[rows]).statistic for predicted, truth in pairs]))


def recall(predicted: Values, truth: Values) -> float:
    """Return which share of the best by `truth` are among the best by `predicted`, where ties share the last places."""
    top = min(TOP, len(predicted))
    last = np.sort(predicted)[-top]
    above, tied = predicted > last, predicted == last
    placed = above + tied * (top - above.sum()) / tied.sum()
    return float(placed[np.argsort(-truth, kind="stable")[:top]].sum() / top)


if __name__ == "__main__":
    main()
