"""What BiFE and its rivals cost on the same instances, and how good the rules are that they find.

Every search runs with the offline generator, the same budget of samples and the same instances; their rules are then
compared with RPB side by side on held-out instances. The first of `--seeds` is the seed of the searches; SCIP solves
held-out instances with all of them. One JSON object a line, printed as soon as it is known: the cost of each search by
part with its best F_LF and F_HF; rule-design time, and CPU seconds in the solver alone, of the others over BiFE's as
published (the paper's two ratios are among them) and over BiFE's as it is by default; then the time ratio of each rule
to RPB. Times are seconds of work (docs/explanation/searches.md). How far a search is goes to the standard error.

Everything is kept in a directory that is removed at the end, or in that of `--home`: then the same command goes on
where it was stopped. The defaults are the paper's scale, which takes days on one core; `--instances` and
`--tuning-calls` scale what one rule costs BiFE and LLM4Branch, so reduce both alike to keep the ratio;
`--searches "bife_default bife_unraced"` runs some alone: BiFE with the product's defaults, and the same without races,
caps and controlled seconds.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench import emit, home_of, parse
from bife_core.base.files import write_whole
from bife_core.instances.generated import open_benchmark
from bife_core.measure.decisions.collecting import collect_decisions
from bife_core.measure.decisions.recorded import Decisions
from bife_core.measure.evaluation.comparison import Comparison
from bife_core.measure.evaluation.summary import EvaluationSummary, evaluate
from bife_core.run.config import PipelineConfig
from bife_core.run.presets import preset, with_overrides
from bife_core.run.study import Evolution, create_study
from bife_core.run.study.identity import VERSION
from bife_core.search import SEARCHES, open_search
from bife_core.search.generators import Generator
from bife_core.solver.methods.base import Method
from bife_core.solver.methods.loading import method_of
from bife_core.store import Store
from bife_core.workers import WorkerPool

TUNER, PAPER = "llm4branch", "bife"
DEFAULT, UNRACED = "bife_default", "bife_unraced"
"""BiFE as it is by default, and the same search with every rule solved to the end on the clock."""


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
        home=None,
        searches=" ".join([DEFAULT, UNRACED, *SEARCHES]),
    )
    wanted = options.searches.split()
    with home_of(options.home) as home:
        for family in options.families:
            configs = {method: configured(family, method, options) for method in SEARCHES}
            configs[DEFAULT] = with_overrides(configs[PAPER], defaults())
            configs[UNRACED] = with_overrides(
                configs[DEFAULT], {"high.race": False, "high.load_correction": False}
            )
            spent: dict[str, dict[str, Any]] = {}
            for method in wanted:
                spent[method] = once(method, configs[method], home, cost_of)
                emit({"family": family, "search": method} | spent[method])
                for base in (PAPER, DEFAULT):
                    if base in spent and method != base:
                        emit({"family": family, f"{method}_over_{base}": over(spent[method], spent[base])})
            rules = [method_of(row["rule"], name) for name, row in spent.items() if row["rule"]]
            if rules:
                summary = side_by_side(rules, configured(family, PAPER, options), home)
                found = {summary.methods[one.method].identity: one for one in summary.comparisons}
                for rule in rules:
                    emit({"family": family, "search": rule.name} | beside_rpb(found[rule.identity]))


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
        "high.instances": options.instances,
        "high.time_limit_s": options.time_limit,
        "evaluation.instances": options.held_out,
        "evaluation.seeds": tuple(options.seeds),
        "runner.workers": options.workers,
    }
    if method == TUNER:
        initial = max(1, min(10, options.tuning_calls // 4))
        own = {"screening_limit_s": options.time_limit, "tuning_calls": options.tuning_calls}
        scale["search.options"] = own | {"tuning_initial": initial}
    return with_overrides(preset("paper"), scale)


def defaults() -> dict[str, Any]:
    """Return how the product's settings of the search and of F_HF differ from the published ones."""
    own, published = PipelineConfig(), preset("paper")
    return {
        f"{section}.{name}": value
        for section in ("search", "high")
        for name, value in getattr(own, section)
        if value != getattr(getattr(published, section), name)
    }


Search = Callable[[str, PipelineConfig, Path], dict[str, Any]]


def once(name: str, config: PipelineConfig, home: Path, search: Search) -> dict[str, Any]:
    """Return what an earlier run wrote down of a search, or run it and write that down."""
    identity = f"{VERSION}{SEARCHES.revision(config.search.method)}"
    known = home / "searches" / f"{name.partition(',')[0]}-{config.fingerprint()}-{identity}.json"
    if not known.exists():
        write_whole(known, json.dumps(search(name, config, home)))
    row: dict[str, Any] = json.loads(known.read_text(encoding="utf-8"))
    return row


def cost_of(name: str, config: PipelineConfig, home: Path) -> dict[str, Any]:
    """Run a search and return what it cost and found."""
    return row_of(searched(config, home))


def searched(
    config: PipelineConfig, home: Path, generator: Callable[[Decisions], Generator] | None = None
) -> Evolution:
    """Run a search, by a generator made from its decisions if one is given; one that was stopped goes on."""
    benchmark, search = open_benchmark(config.instances, home / "instances"), open_search(config.search)
    count = config.high.instances
    design = benchmark.instances("design", count + search.training_instances)
    with WorkerPool(config.runner.workers) as pool:
        decisions, folder, writing = None, home / "decisions" / benchmark.name, None
        if search.low_fidelity:
            asked = config.collection.model_copy(update={"nodes": search.sees_nodes})
            decisions = collect_decisions(benchmark, asked, folder, pool, solver=config.solver)
            writing = generator and generator(Decisions.load(decisions.path))
        study = create_study(
            config,
            design[:count],
            decisions,
            store=Store(home),
            benchmark=config.instances.label,
            training=(*design[count:], *design),
            generator=writing,
            workers=pool,
        )
        return study.run(callbacks=[lambda study, _: print(benchmark.name, study, file=sys.stderr)])


def row_of(found: Evolution) -> dict[str, Any]:
    """Return what a search cost and found."""
    cost, best = found.cost, found.best
    counts = {"samples": cost.samples, "calls": cost.calls, "solved": cost.solved, "failures": found.failures}
    seconds = {name: round(spent, 1) for name, spent in cost.metrics().items()}
    known = {name: best and getattr(best, name) for name in ("id", "f_lf", "f_hf", "source")}
    return counts | seconds | {"best": known.pop("id"), "rule": known.pop("source"), **known}


def over(one: dict[str, Any], other: dict[str, Any]) -> dict[str, float]:
    """Return how many times the cost of one search is that of another."""
    return {name: round(one[name] / other[name], 2) for name in ("design_s", "solver_s")}


def side_by_side(methods: Sequence[Method], config: PipelineConfig, home: Path) -> EvaluationSummary:
    """Compare methods with RPB in one evaluation, all interleaved."""
    protocol = config.evaluation
    about: dict[str, Any] = {"setting": config.instances.benchmark, "solver": config.solver}
    instances = open_benchmark(config.instances, home / "instances").instances("test", protocol.instances)
    with WorkerPool(config.runner.workers) as pool:
        return evaluate(methods, instances, protocol, pool, Store(home), **about)


def beside_rpb(one: Comparison) -> dict[str, Any]:
    """Return how a method compares with RPB."""
    rounded = {"ratio": one.ratio, "ci_low": one.ci_low, "ci_high": one.ci_high, "p_adjusted": one.p_adjusted}
    as_it_is = ("metric", "finding", "wins", "instances", "groups", "proofs")
    return {
        **{name: value and round(value, 4 if name == "p_adjusted" else 3) for name, value in rounded.items()},
        **{name: getattr(one, name) for name in as_it_is},
        "proofs_rpb": one.baseline_proofs,
    }


if __name__ == "__main__":
    main()
