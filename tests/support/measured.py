"""Evaluations of solves nobody made: a rule against RPB on as many models as there are numbers."""

from pathlib import Path

from bife_core.instances.base import Instance
from bife_core.measure.evaluation.summary import summarise
from bife_core.measure.solves import Solved, SolveJob
from bife_core.run.config import EvaluationConfig
from bife_core.solver.methods.base import ScipMethod
from bife_core.solver.methods.references import load_method
from bife_core.solver.scip.solve import SolveResult, SolveSettings

RULE, BASELINE = load_method("pseudocost_product"), ScipMethod(name="relpscost")
METHODS = {RULE.name: RULE, BASELINE.name: BASELINE}
LIMIT_S = 100.0


def result(**known):
    """Return the result of a solve nobody made: optimal in a node and a second, but for what is known otherwise."""
    facts = {"instance": "a", "method": "relpscost", "seed": 0, "status": "optimal"}
    facts |= dict.fromkeys(("nodes", "lp_iterations", "cpu_s"), 1) | {"versions": {}}
    facts |= dict.fromkeys(("gap", "primal_bound", "dual_bound", "primal_dual_integral"), 0.0)
    facts |= {"wall_s": known.get("cpu_s", 1.0)}
    return SolveResult.model_validate(facts | known)


def solved(method, number, cpu_s, *, bound=7.0, nodes=10, integral=2.0):
    """Return a solve of the `number`-th model; one without seconds has failed."""
    instance = Instance(f"m{number}", Path(f"m{number}.mps"), f"{number:016d}")
    job = SolveJob(instance=instance, method=METHODS[method], settings=SolveSettings(time_limit_s=LIMIT_S))
    if cpu_s is None:
        return Solved(job, None, "the rule hung.", "rule")
    made = result(
        instance=instance.name, method=method, nodes=nodes, lp_iterations=5, cpu_s=cpu_s, branching_s=0.1,
        primal_bound=bound, dual_bound=bound, primal_dual_integral=integral,
        **({"status": "timelimit", "gap": 0.2} if cpu_s >= LIMIT_S else {}),
    )  # fmt: skip
    return Solved(job, made, None, "rule")


def summary(rule_s, baseline_s, metric="time", rule_nodes=10, integrals=None):
    """Return an evaluation; `integrals` are the rule's on each model, and the baseline's on all."""
    if integrals is None:
        integrals = ([], 2.0)
    lower, usual = integrals
    measured = [
        solved(RULE.name, k, s, nodes=rule_nodes, integral=lower[k] if lower else usual)
        for k, s in enumerate(rule_s)
    ]
    measured += [solved(BASELINE.name, k, s, integral=usual) for k, s in enumerate(baseline_s)]
    config = EvaluationConfig(seeds=(0,), time_limit_s=LIMIT_S, metric=metric)
    return summarise(measured, METHODS, BASELINE.name, config, "CA test", use=1)
