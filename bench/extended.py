"""What fitted rules gain in F_LF on decisions of other models when they may read the extended features.

Decisions of a family are recorded once with all features. For each seed its models are drawn into those a rule is
fitted to and those it is scored on, and `symbolic` fits rules twice with the same budget: with the 72 features of
Khalil et al. and with all. `--grown` factors are added one by one, `--children` formulas bred from them. One JSON
object a line: {family, decisions, models, seeds, khalil72, extended, gain, gain_stderr, better, cpu_s, read}, agreement
being that of the held-out decisions, means over seeds, `read` how often the rules with all features read one of those
beyond the 72.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bench import tell
from bench.options import benchmark_of, decisions_of, parse
from bench.search_cost import home_of
from bife_core.config import CollectionConfig
from bife_core.decisions.recorded import Decisions, concatenate
from bife_core.features import FEATURES, N_FEATURES
from bife_core.fidelity.low import low_fidelity
from bife_core.generators.offline.writer import write
from bife_core.rules import CompiledRule, compile_rule
from bife_core.sandbox import WorkerPool
from bife_core.search.types import Fit
from bife_core.symbolic.columns import Columns
from bife_core.symbolic.drafting import fit_rules
from bife_core.symbolic.fitting import Fitter


def main() -> None:
    options = parse(
        __doc__, decisions=700, per_model=20, grown=6, children=150, draws=5, store=None, workers=1
    )
    with home_of(options.store) as home, WorkerPool(options.workers) as pool:
        for family in options.families:
            tell({"family": family} | measured(family, options, home, pool))


def measured(family: str, options: Any, home: Path, pool: WorkerPool) -> dict[str, Any]:
    """Return the line of one family."""
    collection = CollectionConfig(
        decisions=options.decisions, decisions_per_instance=options.per_model, features="extended"
    )
    decisions = decisions_of(benchmark_of(family, options), collection, home, pool)
    models = list(dict.fromkeys(decisions.instance))
    began_s = time.process_time()
    read: Counter[str] = Counter()
    rows = []
    for seed in range(options.draws):
        drawn = np.random.default_rng(seed).permutation(len(models))
        fitted, held_out = (
            of_models(decisions, [models[place] for place in part]) for part in np.array_split(drawn, 2)
        )
        row = []
        for width in (N_FEATURES, len(decisions.columns)):
            rule = best_rule(narrowed(fitted, width), options, seed)
            row.append(low_fidelity(rule, narrowed(held_out, width)))
        rows.append(row)
        read.update(FEATURES[index].name for index in rule.features or () if index >= N_FEATURES)
    means, gains = np.mean(rows, axis=0), np.diff(np.array(rows), axis=1)
    return {
        "decisions": len(decisions),
        "models": len(models),
        "seeds": options.draws,
        "khalil72": round(float(means[0]), 4),
        "extended": round(float(means[1]), 4),
        "gain": round(float(gains.mean()), 4),
        "gain_stderr": round(float(gains.std(ddof=1)) / len(rows) ** 0.5, 4),
        "better": int((gains > 0).sum()),
        "cpu_s": round(time.process_time() - began_s),
        "read": dict(read.most_common()),
    }


def of_models(decisions: Decisions, names: list[str]) -> Decisions:
    """Return the decisions of the models of the given names."""
    places = [(decisions.instance.index(name), decisions.instance.count(name)) for name in names]
    return concatenate([decisions[first : first + count] for first, count in places])


def narrowed(decisions: Decisions, width: int) -> Decisions:
    """Return the decisions with their first `width` features alone."""
    return replace(decisions, columns=np.ascontiguousarray(decisions.columns[:width]))


def best_rule(decisions: Decisions, options: Any, seed: int) -> CompiledRule:
    """Return the best rule fitted to decisions within the budget."""
    fit = Fit(terms=options.grown, children=options.children)
    best = fit_rules(Fitter(Columns(decisions)), fit, np.random.Generator(np.random.PCG64(seed)))[0]
    rule = compile_rule(write(best.root))
    assert isinstance(rule, CompiledRule)
    return rule


if __name__ == "__main__":
    main()
