"""Before anything is spent: where SCIP's time goes on a few instances, and how a run splits its budget by that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean
from typing import Final

from bife_core.base.errors import ConfigError, GeneratorError
from bife_core.base.wording import counted
from bife_core.language.components import BRANCHING
from bife_core.measure.context import choose_cost, measure_reference
from bife_core.run.config import PipelineConfig
from bife_core.run.estimate import estimate
from bife_core.run.presets import with_overrides
from bife_core.run.stages.results import Precheck
from bife_core.run.stages.runtime import Runtime
from bife_core.run.stages.search import require_generator
from bife_core.search import open_search
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.scip.cost import TICK_S, Cost
from bife_core.solver.scip.solve import SolveResult
from bife_core.solver.starts.component import START

PRECHECKED: Final = 3
_PARTS: Final = ("presolving", "separation", "heuristics", "propagation", "branching")
"""What SCIP has clocks of."""

_OF_PROOFS: Final = frozenset[Cost]({"time", "nodes", "lp_iterations"})

_MOST_BEFORE: Final = 0.9
_LEAST_SAMPLED: Final = 0.25
"""Shares: of the tuning's time before the search at most, and of the samples that a search of rules has at least."""

_SHORT_S: Final = 50 * TICK_S
"""CPU seconds of solves below which shares of them say nothing."""


def precheck(config: PipelineConfig, runtime: Runtime) -> Precheck:
    """Return where SCIP's time goes, by solves that a run makes anyway, how it splits its budget, and what it takes."""
    results = _usual(config, runtime)
    solves, sentence = [solve for solve in results if solve is not None], time_sentence(results)
    if not solves:
        return Precheck(sentence=sentence)
    cost, why = choose_cost(config.high, solves)
    component, before, split = _split(config, runtime, solves, cost)
    chosen = Precheck(sentence=sentence, cost=cost, component=component, before=before)
    parts = getattr(runtime.benchmark(config.instances).opened, "parts", {})
    expected = estimate(
        chosen.put_into(config),
        fmean(solve.cpu_s for solve in solves),
        runtime.workers(config.runner).workers,
        {name: len(members) for name, members in parts.items()},
        not all(solve.finished for solve in solves),
        before,
    )
    sentences = (sentence, ends_sentence(solves), why, split, f"A run takes {expected.sentence}.")
    return chosen.model_copy(update={"sentence": " ".join(filter(None, sentences)), "expected": expected})


def _usual(
    config: PipelineConfig, runtime: Runtime, rest: Configuration | None = None
) -> tuple[SolveResult | None, ...]:
    """Return the usual solves of the first design instances, with the `rest` of a configuration."""
    count = min(PRECHECKED, config.high.instances)
    instances = runtime.benchmark(config.instances).instances("design", count)
    return measure_reference(instances, replace(runtime.solving(config), rest=rest)).results


def _split(
    config: PipelineConfig, runtime: Runtime, solves: Sequence[SolveResult], cost: Cost
) -> tuple[str | None, float, str]:
    """Return what to search for, None for what is set, the tuning's share of time before that, and why."""
    stuck = cost not in _OF_PROOFS and all(solve.stands_still for solve in solves)
    if stuck and config.search.choose and config.search.component == BRANCHING.name:
        why = "No rule helps where the dual bound stands still: "
        if _writes_starts(config, runtime):
            return START.name, 0.5, f"{why}start methods are searched for."
        why += "the time goes to settings, rows on demand and built-in starts"
        return None, _MOST_BEFORE, f"{why}; a language model would write start methods (--generator openai)."
    return (None, *(tuned_before(solves) if config.tune.seconds else (0.5, "")))


def _writes_starts(config: PipelineConfig, runtime: Runtime) -> bool:
    """Whether search and generator can write start methods."""
    try:
        starts = with_overrides(config, {"search.component": START.name, "search.seed": 0})
        open_search(starts.search)
        require_generator(starts, runtime)
    except (ConfigError, GeneratorError):
        return False
    return True


def fewer_samples(
    config: PipelineConfig, runtime: Runtime, rest: Configuration | None
) -> tuple[PipelineConfig, str]:
    """Return settings of a search with fewer samples where little of the time is left for rules, and why.

    That is known under what was tuned, the `rest` of a configuration included, by solves that the search makes anyway.
    """
    search = config.search
    if not search.choose or search.component != BRANCHING.name:
        return config, ""
    solves = [solve for solve in _usual(config, runtime, rest) if solve is not None]
    if math.fsum(solve.cpu_s for solve in solves) < _SHORT_S:
        return config, ""
    left = 0.0 if all(solve.stands_still for solve in solves) else 1.0 - _root_share(solves)
    samples = max(search.initial, round(min(max(2.0 * left, _LEAST_SAMPLED), 1.0) * search.samples))
    if samples >= search.samples:
        return config, ""
    why = f"Under what was tuned rules can change {100 * left:.0f} % of the time, so {samples} are sampled, not "
    fewer = search.model_copy(update={"samples": samples})
    return config.model_copy(update={"search": fewer}), f"{why}{search.samples}."


def tuned_before(solves: Sequence[SolveResult]) -> tuple[float, str]:
    """Return the share of the tuning's time that comes before the search for rules, and a sentence that says why.

    Until SCIP branches no rule helps: the share of that in all time is tuned first, half of it at the least, since
    settings change what is left for a rule, and 0.9 at the most.
    """
    root = _root_share(solves)
    before = round(min(max(root, 0.5), _MOST_BEFORE), 1)
    return before, "" if before == 0.5 else (
        f"{100 * root:.0f} % of it is over before SCIP branches, where no rule helps, so settings, rows on demand and "
        f"starts have {before:g} of the tuning's time before the search for rules."
    )


def _root_share(solves: Sequence[SolveResult]) -> float:
    root_s = (solve.cpu_s if solve.root_s is None else solve.root_s for solve in solves)
    return math.fsum(root_s) / math.fsum(solve.cpu_s for solve in solves)


def ends_sentence(solves: Sequence[SolveResult]) -> str:
    """Return when the best solution was found, as a share of the time, and the mean gap at the end."""
    timed = [solve for solve in solves if solve.incumbents and solve.cpu_s > 0]
    when = "It finds no solution"
    if timed:
        share = fmean(solve.incumbents[-1][0] / solve.cpu_s for solve in timed if solve.incumbents)
        when = f"The best solution comes after {100 * share:.0f} % of it"
    return f"{when}, and the gap at the end is {100 * fmean(solve.gap for solve in solves):.3g} %."


def time_sentence(results: Sequence[SolveResult | None]) -> str:
    """Return the share of each part of SCIP in the CPU time of RPB's solves; it promises no saving."""
    solves = [result for result in results if result is not None]
    solved = f"{len(solves)} of {counted(len(results), 'instance')}"
    timed = [solve for solve in solves if solve.presolving_s is not None and solve.cpu_s > 0]
    if not timed:
        return f"Where SCIP's time goes is not known: RPB has a result on {solved}."
    parts_s = {part: math.fsum(getattr(solve, f"{part}_s") or 0.0 for solve in timed) for part in _PARTS}
    cpu_s, clocks_s = math.fsum(solve.cpu_s for solve in timed), math.fsum(parts_s.values())
    if cpu_s < _SHORT_S:
        return f"Solves are too short to say where SCIP's time goes: {cpu_s:.2f} CPU seconds on {solved}."
    every_s = max(cpu_s, clocks_s)  # heuristics propagate: two clocks count it
    parts = ", ".join(f"{name} {100 * seconds / every_s:.0f} %" for name, seconds in parts_s.items())
    rest = 100 * (1.0 - clocks_s / every_s)
    return f"SCIP's CPU time goes into {parts}, and LPs at nodes and the rest {rest:.0f} % ({solved}, RPB branches)."
