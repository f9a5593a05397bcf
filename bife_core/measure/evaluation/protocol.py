"""How an evaluation proceeds: labels of methods, the fair order of solves, and the uses of test instances it enters."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from bife_core.base.values import digest_of
from bife_core.instances.base import Instance, marks
from bife_core.measure.config import EvaluationConfig
from bife_core.measure.solves import SolveJob
from bife_core.solver.machine import here
from bife_core.solver.methods.base import BUILTIN_METHODS, RPB, Method
from bife_core.solver.scip.settings import SolverConfig
from bife_core.solver.scip.solve import SolveSettings
from bife_core.store import Store


def unique(methods: Sequence[Method]) -> list[Method]:
    """Return each method once, where it comes first."""
    first: dict[str, Method] = {}
    for method in methods:
        first.setdefault(method.identity, method)
    return list(first.values())


def labelled(methods: Sequence[Method]) -> dict[str, Method]:
    """Return each method once, where it comes first, by a label that no other has."""
    distinct = unique(methods)
    # No other method is called as one of SCIP's: a champion is better than RPB, whatever a file is called.
    names = [method.name for method in distinct] + [*BUILTIN_METHODS]
    labels = {}
    for method in distinct:
        shared = names.count(method.name) > 1 and method.identity != method.name
        label = f"{method.name} ({method.identity[:6]})" if shared else method.name
        labels[label] = method.model_copy(update={"name": label})
    return labels


def interleaved(
    methods: dict[str, Method], instances: Sequence[Instance], config: EvaluationConfig, solver: SolverConfig
) -> list[list[SolveJob]]:
    """Return all solves, seed by seed, in groups: all methods on one instance, one after the other on one core.

    Which method goes first rotates, so that a slow moment of the machine falls on all alike.
    """
    # Solves compare fairly that were interleaved: with equal methods, instances, seeds and warm-up.
    identities = [method.identity for method in methods.values()]
    facts = [identities, [instance.digest for instance in instances], config.seeds, config.warm_up_s]
    scope = digest_of(facts)[:16]
    every, groups = list(methods.values()), []
    for number, seed in enumerate(config.seeds):
        settings = SolveSettings(solver=solver, time_limit_s=config.time_limit_s, seed=seed)
        for position, instance in enumerate(instances):
            first = (position + number) % len(every)
            order = every[first:] + every[:first]
            job = partial(SolveJob, instance=instance, settings=settings, scope=scope)
            groups.append([job(method=method) for method in order])
    return groups


def key_of(rule: Method) -> str:
    """Return the beginning of the keys of a rule's comparisons."""
    return f"{digest_of(rule.identity)[:16]} "


def enter_comparisons(
    store: Store,
    rules: Sequence[Method],
    methods: Sequence[Method],
    instances: Sequence[Instance],
    config: EvaluationConfig,
    solver: SolverConfig,
    promoting: bool = False,
) -> int:
    """Enter into the store that instances are to compare rules, and return which use of them the first rule's is.

    The same rule, solved and judged in the same way, is the same use. SCIP's own rules use nothing up, and count 0;
    where one may be promoted (`promoting`), RPB alone does.
    """
    how = config.model_dump(mode="json", exclude={"instances", "most_instances"})
    solved = [[instance.digest, instance.group] for instance in instances]
    facts = [[method.identity for method in methods], solved, how, solver.digest, here()]
    groups, by = marks(instances), digest_of(facts)[:16]
    spared = (RPB,) if promoting else BUILTIN_METHODS
    uses = [
        0 if rule.identity in spared else store.serve(groups, "test", key_of(rule) + by) for rule in rules
    ]
    return uses[0]
