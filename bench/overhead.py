"""Share of solve time a family's reference rule spends in features, rule and callback.

With `--reads` the rule also reads the features of these names, or all beyond the 72 of Khalil et al. if the name is
`extended`, and chooses as it did without.

One JSON object a line: {family, share, nodes, ...}; share is callback CPU seconds over all CPU seconds of the
solves, nodes their sum. `us_features` and `us_rule` are CPU microseconds per branching.
"""

from __future__ import annotations

from bench import instances_of, parse, tell
from bife_core.features import FEATURES, N_FEATURES, feature_index
from bife_core.methods.loading import load_rule
from bife_core.methods.rule import RuleMethod
from bife_core.methods.using import solve
from bife_core.rules import BENCHMARK_RULES, CompiledRule
from bife_core.rules.language import FUNCTION_NAME


def main() -> None:
    options = parse(__doc__, instances=5, time_limit=300.0, reads=[])
    for family in options.families:
        rule = load_rule(BENCHMARK_RULES[family])
        if options.reads:
            rule = reading(rule, options.reads)
        results = [
            solve(path, rule, seed=seed, time_limit_s=options.time_limit)
            for path in instances_of(family, options)
            for seed in options.seeds
        ]
        calls = max(1, sum(result.calls for result in results))
        tell(
            {
                "family": family,
                "share": sum(r.callback_s for r in results) / sum(r.cpu_s for r in results),
                "nodes": sum(result.nodes for result in results),
                "us_features": round(1e6 * sum(r.feature_s for r in results) / calls, 1),
                "us_rule": round(1e6 * sum(r.rule_s for r in results) / calls, 1),
                "candidates": round(sum(r.candidates for r in results) / calls),
            }
        )


def reading(rule: CompiledRule, names: list[str]) -> CompiledRule:
    """Return a rule that scores alike and reads the named features too."""
    every = [feature.name for feature in FEATURES[N_FEATURES:]]
    indices = [feature_index(name) for name in (every if names == ["extended"] else names)]
    source = f"""{rule.source.replace(f"def {FUNCTION_NAME}", "def reference")}

def {FUNCTION_NAME}(f):
    read = 0.0
    for i in {indices}:
        read += f[i]
    return reference(f) if read > -1.0 else 0.0
"""
    return RuleMethod(name=f"{rule.name} and others", source=source).compiled


if __name__ == "__main__":
    main()
