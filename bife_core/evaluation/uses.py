"""Uses of test instances: which earlier comparisons of rules with a baseline the instances of an evaluation served."""

from __future__ import annotations

from collections.abc import Sequence

from bife_core.benchmarks.base import Instance, marks
from bife_core.evaluation.config import EvaluationConfig
from bife_core.machine import here
from bife_core.methods.base import Method, ScipMethod
from bife_core.scip.solver import SolverConfig
from bife_core.store import Store
from bife_core.values import digest_of


def key_of(rule: Method) -> str:
    """Return what the keys of all comparisons of a rule begin with."""
    return f"{digest_of(rule.identity)[:16]} "


def enter_comparisons(
    store: Store,
    rules: Sequence[Method],
    methods: Sequence[Method],
    instances: Sequence[Instance],
    config: EvaluationConfig,
    solver: SolverConfig,
) -> int:
    """Enter that instances are about to compare rules, and return which use of them the first one is.

    A comparison is known by the rule and by all that changes its solves or how they are judged: the `methods` solved in
    turn, the instances, the protocol, SCIP's settings and the machine. SCIP's own rules use nothing up: 0 for one.
    """
    how = config.model_dump(mode="json", exclude={"instances", "most_instances", "tuned_rpb"})
    facts = [[one.identity for one in methods], [one.digest for one in instances], how, solver.digest, here()]
    groups, by = marks(instances), digest_of(facts)[:16]
    uses = [
        0 if isinstance(rule, ScipMethod) else store.serve(groups, "test", f"{key_of(rule)}{by}")
        for rule in rules
    ]
    return uses[0]
