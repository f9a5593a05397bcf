"""What BiFE and its rivals cost on the same instances, and how good the rules are that they find.

Every search runs with the offline generator, the same budget of samples and the same instances; their rules are then
compared with RPB side by side on held-out instances. The first of `--seeds` is the seed of the searches; SCIP solves
held-out instances with all of them. One JSON object a line, printed as soon as it is known: the cost of each search by
part with its best F_LF and F_HF; rule-design time, and CPU seconds in the solver alone, of the others over BiFE's as
published (the paper's two ratios are among them) and over BiFE's as it is by default; then the time ratio of each rule
to RPB. Times are seconds of work (docs/searches.md). How far a search is goes to the standard error.

Everything is kept in a directory that is removed at the end, or in that of `--home`: then the same command goes on
where it was stopped. The defaults are the paper's scale, which takes days on one core; `--instances` and
`--tuning-calls` scale what one rule costs BiFE and LLM4Branch, so reduce both alike to keep the ratio;
`--searches "bife_default bife_unraced"` runs some alone: BiFE with the product's defaults, and the same without races,
caps and controlled seconds.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from bench import emit, home_of, parse
from bife_core.config import PipelineConfig
from bife_core.files import write_whole
from bife_core.presets import preset, with_overrides
from bife_core.search import SEARCHES
from bife_core.study.study import VERSION

if TYPE_CHECKING:
    from bife_core.study import EvolutionState
    from flows.reporting.observer import Observer
    from flows.results import EvolutionResult

ABLATION, TUNER, PAPER = "bife_without_f_lf", "llm4branch", "bife"
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
        # Before anything imports `tasks`, which reads them.
        os.environ["BIFE_HOME"] = str(home)
        os.environ.pop("MLFLOW_TRACKING_URI", None)
        for family in options.families:
            configs = {method: configured(family, method, options) for method in SEARCHES}
            configs[DEFAULT] = with_overrides(configs[PAPER], defaults())
            configs[UNRACED] = with_overrides(
                configs[DEFAULT], {"high.race": False, "high.load_correction": False}
            )
            configs = {method: configs[method] for method in wanted}
            spent: dict[str, dict[str, Any]] = {}
            for method, config in configs.items():
                spent[method] = searched_once(home, config, searched)
                emit({"family": family, "search": method} | spent[method])
                for base in (PAPER, DEFAULT):
                    if base in spent and method != base:
                        emit({"family": family, f"{method}_over_{base}": over(spent[method], spent[base])})
            rules = {method: row["rule"] for method, row in spent.items() if row["rule"] is not None}
            for row in compared(configured(family, PAPER, options), rules) if rules else ():
                emit({"family": family} | row)


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
        "search.options.screening_limit_s": options.time_limit,
        "search.options.tuning_calls": options.tuning_calls,
        "search.options.tuning_initial": max(1, min(10, options.tuning_calls // 4)),
        "high.instances": options.instances,
        "high.time_limit_s": options.time_limit,
        "evaluation.instances": options.held_out,
        "evaluation.seeds": tuple(options.seeds),
        "runner.workers": options.workers,
    }
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


def searched_once(
    home: Path, config: PipelineConfig, search: Callable[[PipelineConfig], dict[str, Any]]
) -> dict[str, Any]:
    """Return what an earlier run wrote down of a search, or run it and write that down."""
    known = home / search.__name__ / f"{config.fingerprint()}-{VERSION}.json"
    if not known.exists():
        write_whole(known, json.dumps(search(config)))
    row: dict[str, Any] = json.loads(known.read_text(encoding="utf-8"))
    return row


def searched(config: PipelineConfig) -> dict[str, Any]:
    """Run a search and return what it cost and found."""
    from flows.evolution import evolution
    from flows.operate.running import run

    return row_of(run(cast("Observer", Progress(config)), evolution, config))


def row_of(found: EvolutionResult) -> dict[str, Any]:
    """Return what a search cost and found."""
    cost, best = found.cost, found.best
    return {
        "samples": cost.samples,
        "calls": cost.calls,
        "failures": found.failures,
        "trials": cost.trials,
        "solved": cost.solved,
        **{f"{part}_s": round(seconds, 1) for part, seconds in cost.parts.items()},
        "design_s": round(cost.design_s, 1),
        "solver_s": round(cost.solver_s, 1),
        "wall_s": round(cost.wall_s, 1),
        "best": best.id if best is not None else None,
        "f_lf": best.f_lf if best is not None else None,
        "f_hf": best.f_hf if best is not None else None,
        "rule": str(found.best_rule) if best is not None else None,
    }


def over(one: dict[str, Any], other: dict[str, Any]) -> dict[str, float]:
    """Return how many times the cost of one search is that of another."""
    return {name: round(one[name] / other[name], 2) for name in ("design_s", "solver_s")}


def compared(config: PipelineConfig, rules: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Compare the rules of all searches with RPB in one evaluation, and yield a row each."""
    from bife_core.methods.loading import load_method
    from flows.evaluation import evaluation
    from flows.operate.running import run

    files = tuple(dict.fromkeys(rules.values()))
    summary = run(cast("Observer", Progress(config)), evaluation, config, files[0], False, files[1:]).summary
    by_label = {comparison.method: comparison for comparison in summary.comparisons}
    for method, file in rules.items():
        label = summary.label_of(load_method(file).identity)
        found = by_label.get(label or "")
        if found is not None:
            yield {
                "search": method,
                "ratio_to_rpb": round(found.ratio, 3),
                "ci_low": found.ci_low and round(found.ci_low, 3),
                "ci_high": found.ci_high and round(found.ci_high, 3),
                "p_adjusted": round(found.p_adjusted, 4),
                "held_out": found.instances,
            }


class Progress:
    """Says on the standard error how far a search is, every few seconds at most."""

    EVERY_S = 15.0

    def __init__(self, config: PipelineConfig) -> None:
        self._name = f"{config.instances.label}, {config.search.method}"
        self._began_s = time.monotonic()
        self._said_s = 0.0
        self._doing = ""

    def stage(self, name: str, about: str) -> None:
        """Say which stage begins."""
        self._say(f"{name}: {about}")

    def activity(self, text: str) -> None:
        """Keep what is being done, for the next line."""
        self._doing = text

    def progress(self, done: int, total: int) -> None:
        """Say how far it is, unless something was said just now."""
        if time.monotonic() - self._said_s > self.EVERY_S:
            self._say(f"{self._doing}, {done} of {total}")

    def generation(self, state: EvolutionState) -> None:
        """Say which generation is complete."""
        self._say(f"generation {state.generation}, {state.samples_total} of {state.budget} samples")

    def note(self, text: str) -> None:
        """Say it."""
        self._say(text)

    def _say(self, text: str) -> None:
        self._said_s = time.monotonic()
        print(f"{self._said_s - self._began_s:6.0f} s  {self._name}: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
