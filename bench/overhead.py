"""Share of solve time a family's reference rule spends in features, rule and callback.

One JSON object a line: {family, share, nodes, ...}; share is callback CPU seconds over all CPU seconds of the
solves, nodes their sum. `us_features` and `us_rule` are CPU microseconds per branching.
"""

from __future__ import annotations

from bench import emit, instances_of, parse
from bife_core.methods.loading import load_rule
from bife_core.methods.using import solve
from bife_core.rules import BENCHMARK_RULES


def main() -> None:
    options = parse(__doc__, instances=5, time_limit=300.0, solver="default")
    for family in options.families:
        rule = load_rule(BENCHMARK_RULES[family])
        results = [
            solve(path, rule, seed=seed, time_limit_s=options.time_limit, solver=options.solver)
            for path in instances_of(family, options)
            for seed in options.seeds
        ]
        calls = max(1, sum(result.calls for result in results))
        emit(
            {
                "family": family,
                "share": sum(r.callback_s for r in results) / sum(r.cpu_s for r in results),
                "nodes": sum(result.nodes for result in results),
                "us_features": round(1e6 * sum(r.feature_s for r in results) / calls, 1),
                "us_rule": round(1e6 * sum(r.rule_s for r in results) / calls, 1),
                "candidates": round(sum(r.candidates for r in results) / calls),
            }
        )


if __name__ == "__main__":
    main()
