"""The rules of many searches beside RPB and other methods, on fresh instances.

    python -m bench.claims --families FAMILY --solvers default --instances-seed S --store DIR > rows.jsonl
    python -m bench.tables rows.jsonl

Each of `--searches` runs without reference rules, once for each of `--search-seeds` seeds, with the family's preset
`quick` under the first of `--solvers`. `NAME,SETTING=VALUE,...` is a search with other settings, such as
`bife,low.tune=0`, in which `{seed}` is its seed; `screened` is `random` with as much F_LF screening as `symbolic` has,
and `tuned` is SCIP tuned without a rule, built-in starts included. `--set` has such settings for all of them.
The first search has the preset's samples; all others, and the tuning of SCIP, stop at equal cost, the CPU seconds that
the solves of the first took in the median over its seeds, after the generation under way. Validation chooses one of
the best that a search found, as in `bife run`.

One interleaved run then evaluates all final rules, RPB, SCIP tuned without a rule (`tuned SCIP`), the family's
published rule, `--others` and `--rules` (names or files, `{family}` is the family), on `--instances` held-out instances
drawn by `--instances-seed`, with each SCIP seed of `--seeds`, under each of `--solvers`, as ratios to `--baseline`. A
search without a rule counts with RPB's costs. With `--strong-branching` full strong branching solves too: `share` is
the fraction of the gap between RPB and strong branching, less its own time, that a method closes, in logarithms.

One JSON object a line: the cost of each search; for each search and method {family, size, solver, version, method,
search_seed, cpu_s, nodes, branching, solved, solves, metric, ratio, ci_low, ci_high, p_adjusted, finding, wins, groups,
instances, proofs, proofs_rpb, share, about}; for each pair of searches {searches, mean_ratios, ranges, counts,
p_value}, a permutation test over their seeds, which speaks of other seeds on these instances, and {ratio, ci_low,
ci_high, p_rules}, which speaks of these rules on other instances. `version` is the commit, and those of the store's
earlier runs. The same command goes on where it stopped; `--only-search` ends after the searches.
"""

from __future__ import annotations

import math
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from threading import Lock
from typing import Any, Final, NamedTuple

import numpy as np
from scipy.stats import permutation_test

from bench import GENERAL, PUBLISHED, emit, home_of, interval_of, parse
from bench.search_cost import beside_rpb, once, row_of, searched, side_by_side
from bife_core import (
    Decisions,
    Method,
    PipelineConfig,
    Store,
    WorkerPool,
    load_method,
    open_benchmark,
    preset,
    with_overrides,
)
from bife_core.base.stats import signed_rank_test
from bife_core.cli.options import assignment
from bife_core.extend import (
    RPB,
    SEARCHES,
    Draft,
    EvaluationSummary,
    PromptContext,
    WrittenRequest,
    by_high_fidelity,
    method_of,
    write_whole,
)
from bife_core.measure.choices import Yardstick
from bife_core.measure.context import SolveContext
from bife_core.measure.evaluation.choice import choose
from bife_core.measure.evaluation.comparison import branched
from bife_core.measure.evaluation.metrics import METRICS, method_table
from bife_core.search.generators.offline.expression import Node
from bife_core.search.generators.offline.operators import sample_rule
from bife_core.search.generators.offline.source import write
from bife_core.search.symbolic.fitting import Columns
from bife_core.solver.methods.references import budgeted
from bife_core.tuning.large_classes import family_facts
from bife_core.tuning.space import Space
from bife_core.tuning.tuner import tune

OTHERS: Final = ["general", GENERAL, "pscost"]
STRONG: Final = "vanillafullstrong"
SCREENED: Final = "screened"
TUNED: Final = "tuned"
CHILDREN: Final = SEARCHES.find("symbolic").Options().children  # type: ignore[attr-defined]
"""Formulas that `symbolic` breeds for a rule."""
MOST_SAMPLES: Final = 100_000
"""Of a search that CPU seconds bound."""
MOST_PERMUTATIONS: Final = 200_000


class Measured(NamedTuple):
    """What is compared: a search's rule, None where it found none, or a method that none found."""

    name: str
    method: Method | None
    seed: int | None = None


def main() -> None:
    options = parse(
        __doc__, instances=20, seeds=[0, 1], searches=["symbolic", "bife", "random", SCREENED],
        search_seeds=10, rules=[], others=OTHERS, baseline=RPB, solvers=["default"], size="",
        instances_seed=0, time_limit=0.0, set=[], only_search=False, strong_branching=False, store=None, workers=1,
    )  # fmt: skip
    if options.searches[:1] == [TUNED]:
        sys.exit(f"--searches begins with {TUNED}; expected a search before it, whose CPU seconds it gets.")
    with home_of(options.store) as home:
        version = version_of(home)
        rules = {
            family: {rule: load_method(rule.replace("{family}", family)) for rule in options.rules}
            for family in options.families
        }
        for family in options.families:
            config = configured(family, options)
            measured, budget_s = list[Measured](), None
            for search in options.searches:
                costs = []
                for seed in range(options.search_seeds):
                    if search == TUNED and budget_s:
                        measured.append(Measured(search, tuned(config, budget_s, home, seed), seed))
                        continue
                    searching = searched_by(search, config, seed, budget_s)
                    row = once(search, searching, home, found_and_chosen)
                    emit({"family": family, "search": search, "search_seed": seed, "version": version} | row)
                    method = method_of(row["rule"]) if row["rule"] else None
                    measured.append(Measured(search, method, seed))
                    costs.append(row["solver_s"])
                budget_s = budget_s or statistics.median(costs)
            if options.only_search:
                continue
            if budget_s and TUNED not in options.searches:
                measured.append(Measured("tuned SCIP", tuned(config, budget_s, home)))
            names = filter(
                None, (PUBLISHED.get(family), *options.others, options.strong_branching and STRONG, RPB)
            )
            others = rules[family] | {name: load_method(name) for name in names}
            measured += [Measured(name, method) for name, method in others.items()]
            for solver in options.solvers:
                sized = {"instances.size": options.size} if options.size else {}
                compared = with_overrides(config, {"solver": solver, **sized})
                summary = side_by_side([entry.method for entry in measured if entry.method], compared, home)
                about = {"family": family, "size": compared.instances.size, "solver": solver}
                for line in lines(summary, measured):
                    emit(about | {"version": version} | line)


def version_of(home: Path) -> str:
    """Return the commits that a store was filled at, the present one last."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    here = subprocess.run(command, capture_output=True, text=True).stdout.strip() or "unknown"
    versions = (home / "versions").read_text().split() if (home / "versions").exists() else []
    every = [*(version for version in versions if version != here), here]
    write_whole(home / "versions", "\n".join(every))
    return " ".join(every)


def configured(family: str, options: Any) -> PipelineConfig:
    settings: dict[str, object] = {
        "instances.benchmark": family,
        "instances.seed": options.instances_seed,
        "solver": options.solvers[0],
        "evaluation.instances": options.instances,
        "evaluation.baseline": options.baseline,
        "evaluation.seeds": tuple(options.seeds),
        "runner.workers": options.workers,
    }
    if options.time_limit:
        settings["evaluation.time_limit_s"] = options.time_limit
    return with_overrides(preset("quick", family), settings | dict(map(assignment, options.set)))


def searched_by(search: str, config: PipelineConfig, seed: int, budget_s: float | None) -> PipelineConfig:
    """Return the settings of one of `--searches`, bounded by CPU seconds of solves if they are given."""
    name, *settings = search.replace("{seed}", str(seed)).split(",")
    bound = {"search.samples": MOST_SAMPLES, "budget.solver_s": budget_s} if budget_s else {}
    chosen = {"search.algorithm": "random" if name == SCREENED else name, "search.seed": seed}
    return with_overrides(config, chosen | bound | dict(map(assignment, settings)))


def found_and_chosen(name: str, config: PipelineConfig, home: Path) -> dict[str, Any]:
    """Run a search and let validation choose; the text of what it chose is the line's `rule`."""
    screened = name.startswith(SCREENED)
    result = searched(config, home, Screened if screened else None)
    row = row_of(result) | ({"screened": CHILDREN * result.cost.samples} if screened else {})
    distinct = {sample.sha: sample for sample in reversed(by_high_fidelity(result.samples))}
    best = list(reversed(distinct.values()))[: config.validation.finalists]
    few = [method_of(sample.source or "", sample.id) for sample in best]
    if few:
        few += budgeted(few[0], config.validation.budgets)
        instances = open_benchmark(config.instances, home / "instances").instances(
            "validation", config.validation.instances
        )
        with WorkerPool(config.runner.workers) as pool:
            choice = choose(few, instances, SolveContext(config.high, config.solver, pool, Store(home)))
        (chosen,) = (method for method in few if method.name == choice.chosen)
        row |= {"best": choice.chosen, "rule": chosen.text}
    return row


class Screened:
    """The grammar, where every rule is the best by F_LF of as many drawn as `symbolic` breeds for one of its rules."""

    def __init__(self, decisions: Decisions) -> None:
        self.drawn = CHILDREN
        self.name = f"best of {self.drawn} drawn"
        self._columns = Columns(decisions)
        self._yardstick, self._lock = Yardstick(decisions), Lock()

    def generate(self, request: WrittenRequest, context: PromptContext) -> Draft:
        """Write the rule."""
        rng = np.random.default_rng(request.seed)
        with self._lock:  # the columns keep values for one thread
            root = max((sample_rule(rng) for _ in range(self.drawn)), key=self._f_lf)
        return Draft(model=self.name, source=write(root))

    def _f_lf(self, root: Node) -> float:
        return self._yardstick.of_scores(self._columns.value(root))


def tuned(config: PipelineConfig, budget_s: float, home: Path, seed: int = 0) -> Method:
    """Return SCIP tuned without any rule on the searches' design instances, for as many CPU seconds as a search had."""
    design = open_benchmark(config.instances, home / "instances").instances("design", config.high.instances)
    paths = [instance.path for instance in design]
    with WorkerPool(config.runner.workers) as pool:
        solving = SolveContext(config.high, config.solver, pool, Store(home))
        space = Space({"pscost": load_method("pscost")}, facts=family_facts([*map(str, paths)]))
        result = tune(design, solving, space, budget_s, seed=seed)
    tuning = {"tuned SCIP": result.best.choices, "search_seed": seed, "found": result.sentence}
    emit({"family": config.instances.benchmark} | tuning)
    return result.configuration.model_copy(update={"name": f"tuned SCIP {seed}"})


def lines(summary: EvaluationSummary, measured: Sequence[Measured]) -> Iterator[dict[str, Any]]:
    """Yield a line for all that was measured, and one for each pair of searches."""
    shares, of_strong = strong_branching_shares(summary)
    yield from of_strong
    table = method_table(summary.frame, summary.protocol.metric).to_dict("index")
    rows: dict[str, dict[str, Any]] = {
        method.identity: {
            "cpu_s": round(float(table[label]["time"]), 3),
            "nodes": round(float(table[label]["nodes"]), 1),
            "branching": round(float(table[label]["inference_share"]), 4),
            "solved": int(table[label]["solved"]),
            "solves": int(table[label]["solves"]),
            "share": shares.get(label),
        }
        for label, method in summary.methods.items()
    }
    for comparison in summary.comparisons:
        rows[summary.methods[comparison.method].identity] |= beside_rpb(comparison)
    logs: dict[str, list[float]] = {}
    rules: dict[str, list[str]] = {}
    known_as = {method.identity: label for label, method in summary.methods.items()}
    for name, method, seed in measured:
        line: dict[str, Any] = {"method": name} | ({} if seed is None else {"search_seed": seed})
        line |= rows[RPB if method is None else method.identity]
        line |= {"about": about} if (about := getattr(method, "about", None)) else {}  # a network's training
        if method is None or (method.identity == RPB and name != RPB):
            why = (
                "found no rule and counts as RPB"
                if method is None
                else "is RPB: no better parameters were found"
            )
            line |= {"ratio": 1.0, "finding": "undecided", "note": f"{name} {why}"}
        if seed is not None and "ratio" in line:
            logs.setdefault(name, []).append(math.log(line["ratio"]))
            rules.setdefault(name, []).append(known_as[RPB if method is None else method.identity])
        yield line
    yield {"reused": summary.reused, "failures": summary.failures, "mismatches": summary.mismatches}
    for pair in combinations(logs, 2):
        between_rules = on_instances(summary, *(rules[name] for name in pair))
        yield {"searches": pair} | between(*(logs[name] for name in pair)) | between_rules


def on_instances(summary: EvaluationSummary, first: list[str], second: list[str]) -> dict[str, Any]:
    """Return the ratio of costs of some methods to those of others, both as geometric means, with its interval."""
    frame = branched(summary.frame)
    logs = np.log(METRICS[summary.protocol.metric].of(frame))
    costs = frame.assign(cost=logs).pivot_table("cost", "group", "method")
    if costs.empty:  # nobody branches
        return {}
    difference = costs[first].mean(axis="columns") - costs[second].mean(axis="columns")
    return interval_of(difference) | {"p_rules": round(signed_rank_test(difference), 5)}


def between(first: Sequence[float], second: Sequence[float]) -> dict[str, Any]:
    """Return how two searches compare, from the log ratio of the rule of each of their seeds."""
    both, p_value = (first, second), None
    if min(len(first), len(second)) > 1:
        ways = math.comb(len(first) + len(second), len(first))
        test = permutation_test(
            both,
            lambda x, y, axis: np.mean(x, axis=axis) - np.mean(y, axis=axis),
            n_resamples=np.inf if ways <= MOST_PERMUTATIONS else MOST_PERMUTATIONS,
            vectorized=True,
            rng=0,
        )
        p_value = round(float(test.pvalue), 5)
    return {
        "mean_ratios": [round(math.exp(statistics.fmean(logs)), 3) for logs in both],
        "ranges": [[round(math.exp(end), 3) for end in (min(logs), max(logs))] for logs in both],
        "counts": [len(logs) for logs in both],
        "p_value": p_value,
    }


def strong_branching_shares(summary: EvaluationSummary) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """Return which part of strong branching's gain without its own time each method wins, and a line on that gain."""
    frame = summary.frame
    of_strong = frame["method"] == STRONG
    # What strong branching that a limit stopped would have needed is not known.
    cost = (frame["cost_time"] - frame["branching_s"].where(of_strong, 0.0)).where(
        ~of_strong | frame["solved"]
    )
    costs = frame.assign(cost=cost).pivot_table("cost", ["group", "digest", "seed"], "method").dropna()
    if STRONG not in costs or costs.empty:
        return {}, []
    logs = costs.map(math.log).groupby("group").mean()
    gains = logs.sub(logs[RPB], axis="index").mean().to_dict()
    limit = gains[STRONG]
    line = {"method": "free strong branching", "ratio": round(math.exp(limit), 3), "solves": len(costs)}
    shares = {str(name): round(gain / limit, 2) for name, gain in gains.items()} if limit < 0.0 else {}
    return shares, [line]


if __name__ == "__main__":
    main()
