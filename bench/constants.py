"""What tuning the numbers of rules on F_LF gains on decisions of other models.

The rules are those of `bench.fidelity`: reference rules, those in the recorded answers of `--rules`, and rules of the
offline grammar, as far as they choose differently. Each is tuned on the first `--fit` decisions of a family and scored
on the rest, which come from other models. One JSON object a line: {family, rules, changed, fitted_before, fitted_after,
held_out_before, held_out_after, gain, gain_stderr, not_worse, cpu_s}, the means over the rules that changed, and the
CPU seconds a rule took.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from bench import benchmark_of, cut, decisions_of, emit, home_of, parse
from bench.fidelity import different_rules
from bife_core.config import CollectionConfig
from bife_core.fidelity.low import low_fidelity
from bife_core.fidelity.measures import Yardstick
from bife_core.fidelity.tuning import tuned
from bife_core.methods.rule import RuleMethod
from bife_core.sandbox import WorkerPool


def main() -> None:
    options = parse(
        __doc__,
        solver="default",
        rules=None,
        rules_count=60,
        decisions=900,
        fit=150,
        trials=200,
        store=None,
        workers=1,
    )
    with home_of(options.store) as home, WorkerPool(options.workers) as pool:
        for family in options.families:
            emit({"family": family} | measured(family, options, home, pool))


def measured(family: str, options: Any, home: Path, pool: WorkerPool) -> dict[str, Any]:
    """Return the line of one family."""
    collection = CollectionConfig(decisions=options.decisions, decisions_per_instance=25)
    recorded = decisions_of(benchmark_of(family, options), collection, home, pool, options.solver)
    fitted, held_out = cut(recorded, options.fit)
    yardstick = Yardstick(fitted)
    rows, spent = [], []
    rules = list(different_rules(fitted, options.rules_count, options.rules))
    for source in rules:
        began_s = time.process_time()
        better = tuned(source, fitted, yardstick, options.trials)
        spent.append(time.process_time() - began_s)
        if better is not None:
            rows.append(
                [
                    low_fidelity(RuleMethod(name="tuned", source=text).compiled, of)
                    for of in (fitted, held_out)
                    for text in (source, better)
                ]
            )
    means = np.mean(rows, axis=0).round(4)
    gains = np.diff(np.array(rows)[:, 2:], axis=1)
    return {
        "rules": len(rules),
        "changed": len(rows),
        "fitted_before": means[0],
        "fitted_after": means[1],
        "held_out_before": means[2],
        "held_out_after": means[3],
        "gain": round(float(gains.mean()), 4),
        "gain_stderr": round(float(gains.std(ddof=1)) / len(rows) ** 0.5, 4),
        "not_worse": round(float(np.mean(gains >= 0)), 2),
        "cpu_s": round(float(np.mean(spent)), 3),
    }


if __name__ == "__main__":
    main()
