"""How large and how hard the models of the families are for SCIP's own branching, and how much of that branching is.

    python -m bench.hardness --families network_verification --size test --instances 3 --methods relpscost pscost

Held-out models under `--solver`. One JSON object a line: {instance, rows, columns, integers, method, status, cpu_s,
nodes, gap, integral, share}, `share` of the time in branching; for a rule also {overhead, us_features, us_rule,
candidates}: the share of features, rule and callback, CPU microseconds and candidates of a branching.
"""

from __future__ import annotations

from bench import benchmark_of, emit, model_of, parse
from bife_core import solve


def main() -> None:
    options = parse(__doc__, instances=3, methods=["relpscost"], time_limit=60.0, solver="default")
    settings = {"time_limit_s": options.time_limit, "seed": options.seeds[0], "solver": options.solver}
    for family in options.families:
        for instance in benchmark_of(family, options).instances("test", options.instances):
            model = model_of(instance.path)
            counts = {"rows": model.getNConss(), "columns": model.getNVars()}
            counts["integers"] = model.getNBinVars() + model.getNIntVars()
            for method in options.methods:
                result = solve(instance.path, method, timed=True, **settings)
                line = {"instance": instance.name} | counts | {"method": method, "status": result.status}
                line |= {"cpu_s": round(result.cpu_s, 1), "nodes": result.nodes, "gap": round(result.gap, 5)}
                spent = result.branching_s and round(result.branching_s / result.cpu_s, 2)
                line |= {"integral": round(result.primal_dual_integral), "share": spent}
                if calls := result.calls:
                    line["overhead"] = round(result.callback_s / result.cpu_s, 4)
                    line["us_features"] = round(1e6 * result.feature_s / calls, 1)
                    line["us_rule"] = round(1e6 * result.rule_s / calls, 1)
                    line["candidates"] = round(result.candidates / calls)
                emit(line)


if __name__ == "__main__":
    main()
