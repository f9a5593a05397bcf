"""CPU time of a family's reference rule against SCIP's reliability pseudocost branching (RPB).

Both solve the same held-out test instances in one run: a pair runs on one core, one right after the other, and
which goes first alternates. One worker by default, so that no other solve competes for the memory; `--workers 2`
is faster and a little noisier. One JSON object a line: {family, rule, ratio, ci_low, ci_high, instances, seeds,
...}, where ratio is the geometric mean over instances of the rule's CPU time over RPB's.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from bench import benchmark_of, emit, parse
from bife_core.config import EvaluationConfig
from bife_core.evaluation.summary import evaluate
from bife_core.methods.loading import load_method
from bife_core.rules import BENCHMARK_RULES
from bife_core.sandbox import WorkerPool
from bife_core.store import Store


def main() -> None:
    options = parse(__doc__, instances=20, rule=None, workers=1, time_limit=1000.0)
    with WorkerPool(options.workers) as pool, tempfile.TemporaryDirectory() as fresh:
        for family in options.families:
            rule = load_method(options.rule or BENCHMARK_RULES[family])
            summary = evaluate(
                [rule],
                benchmark_of(family, options).instances("test", options.instances),
                EvaluationConfig(
                    instances=options.instances, seeds=tuple(options.seeds), time_limit_s=options.time_limit
                ),
                pool,
                Store(Path(fresh)),
            )
            lead = summary.lead
            ratios = {
                name: value and round(value, 4)
                for name in ("ratio", "ci_low", "ci_high", "node_ratio")
                for value in (getattr(lead, name),)
            }
            counts = {name: getattr(lead, name) for name in ("instances", "wins", "losses")}
            wrong = {"mismatches": list(summary.mismatches), "failures": list(summary.failures)}
            emit({"family": family, "rule": rule.name} | ratios | counts | {"seeds": options.seeds} | wrong)


if __name__ == "__main__":
    main()
