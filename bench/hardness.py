"""How large and how hard the models of the families are for SCIP's own branching, and how much of that branching is.

    python -m bench.hardness --families network_verification --size test --instances 3 --methods relpscost pscost

Held-out models under SCIP's settings `--solver`, one after the other. One JSON object a line: {instance, rows, columns,
integers, method, status, cpu_s, nodes, gap, integral, share}, where share is the part of the time spent in branching.
For a rule also {overhead, us_features, us_rule, candidates}: the part of the time that features, rule and callback
take, CPU microseconds and candidates of a branching.
"""

from __future__ import annotations

from bench import benchmark_of, emit, parse
from bife_core.solver.methods.using import solve
from bife_core.solver.scip.reading import read_model


def main() -> None:
    options = parse(__doc__, instances=3, methods=["relpscost"], time_limit=60.0, solver="default")
    for family in options.families:
        for instance in benchmark_of(family, options).instances("test", options.instances):
            model = read_model(instance.path)
            counts = {
                "rows": model.getNConss(),
                "columns": model.getNVars(),
                "integers": model.getNBinVars() + model.getNIntVars(),
            }
            for method in options.methods:
                result = solve(
                    instance.path,
                    method,
                    time_limit_s=options.time_limit,
                    seed=options.seeds[0],
                    solver=options.solver,
                )
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
