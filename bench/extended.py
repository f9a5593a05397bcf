"""What fitted rules gain in F_LF on decisions of other models when they may read the extended features.

Decisions of a family are recorded once with all features. For each seed its models are drawn into those a rule is
fitted to and those it is scored on, and `symbolic` fits rules twice with the same budget: with the 72 features of
Khalil et al. and with all. `--grown` factors are added one by one, `--children` formulas bred from them. One JSON
object a line: {family, decisions, models, seeds, reference, khalil72, extended, gain, gain_stderr, better, cpu_s,
read}, agreement being that of the held-out decisions, means over seeds: `reference` that of the family's reference rule
(of `general` where it has none), `read` how often the rules with all features read one of those beyond the 72.
"""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from bench import tell
from bench.formulas import best_formula, extended_decisions, gained, halves, narrowed
from bench.options import parse
from bench.search_cost import home_of
from bife_core.features import FEATURES, N_FEATURES
from bife_core.fidelity.low import low_fidelity
from bife_core.generators.offline.writer import write
from bife_core.methods.rule import RuleMethod
from bife_core.rules import BENCHMARK_RULES, load_rule
from bife_core.sandbox import WorkerPool
from bife_core.search.types import Fit


def main() -> None:
    options = parse(
        __doc__, decisions=700, per_model=20, grown=6, children=150, draws=5, store=None, workers=1
    )
    with home_of(options.store) as home, WorkerPool(options.workers) as pool:
        for family in options.families:
            tell({"family": family} | measured(family, options, home, pool))


def measured(family: str, options: Any, home: Path, pool: WorkerPool) -> dict[str, Any]:
    """Return the line of one family."""
    decisions = extended_decisions(family, options, home, pool)
    reference = load_rule(BENCHMARK_RULES.get(family, "general"))
    fit = Fit(terms=options.grown, children=options.children)
    began_s = time.process_time()
    read: Counter[str] = Counter()
    references, rows = [], []
    for seed, fitted, held_out in halves(decisions, options.draws):
        references.append(low_fidelity(reference, narrowed(held_out, N_FEATURES)))
        row = []
        for width in (N_FEATURES, len(decisions.columns)):
            rng = np.random.Generator(np.random.PCG64(seed))
            source = write(best_formula(narrowed(fitted, width), fit, rng))
            rule = RuleMethod(name="fitted", source=source).compiled
            row.append(low_fidelity(rule, narrowed(held_out, width)))
        rows.append((row[0], row[1]))
        read.update(FEATURES[index].name for index in rule.features or () if index >= N_FEATURES)
    return {
        "decisions": len(decisions),
        "models": len(set(decisions.instance)),
        "seeds": options.draws,
        "reference": round(float(np.mean(references)), 4),
        **gained(rows, ("khalil72", "extended")),
        "cpu_s": round(time.process_time() - began_s),
        "read": dict(read.most_common()),
    }


if __name__ == "__main__":
    main()
