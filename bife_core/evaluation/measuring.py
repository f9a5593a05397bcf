"""Solve every instance with every seed under every method, in an order that is fair to all of them.

Methods are interleaved: of one instance and seed, all methods are solved one right after the other on the same
core before the next instance is taken up, and which goes first rotates, so that a busy or slow moment of the
machine falls on all alike. Each solve is stored the moment it ends; an evaluation that was interrupted goes on
where it stopped.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from bife_core.benchmarks.base import Instance, marks
from bife_core.evaluation.config import EvaluationConfig
from bife_core.machine import here
from bife_core.methods.base import BUILTIN_METHODS, Method, ScipMethod
from bife_core.sandbox import Workers
from bife_core.scip.solver import SolverConfig
from bife_core.scip.solving import SolveResult, SolveSettings
from bife_core.solves import Solved, SolveJob, run_solves
from bife_core.store import Store
from bife_core.values import digest_of


@dataclass(frozen=True)
class Cell:
    """One solve of an evaluation: its method's label, its instance's group, and once done what became of it."""

    method: str
    job: SolveJob
    group: str
    solved: Solved | None = None

    @property
    def result(self) -> SolveResult | None:
        """The result, which bears the method's label: a stored solve may have another's."""
        found = self.solved.result if self.solved is not None else None
        return found.model_copy(update={"method": self.method}) if found is not None else None

    @property
    def failure(self) -> str | None:
        """Why there is no result."""
        return self.solved.failure if self.solved is not None else None


def labelled(methods: Sequence[Method]) -> dict[str, Method]:
    """Return methods by a label of their own; the same method given twice counts once.

    Examples
    --------
    >>> from bife_core.methods.base import ScipMethod
    >>> list(labelled([ScipMethod(name="pscost"), ScipMethod(name="relpscost"), ScipMethod(name="pscost")]))
    ['relpscost', 'pscost']
    """
    distinct = list({method.identity: method for method in reversed(methods)}.values())[::-1]
    # No other method is called as one of SCIP's: a champion is better than RPB, whatever a file is called.
    names = [method.name for method in distinct] + [*BUILTIN_METHODS]
    return {
        f"{one.name} ({one.identity[:6]})"
        if names.count(one.name) > 1 and one.identity != one.name
        else one.name: one
        for one in distinct
    }


def interleaved(
    methods: dict[str, Method],
    instances: Sequence[Instance],
    config: EvaluationConfig,
    solver: SolverConfig,
) -> list[tuple[Cell, ...]]:
    """Return all solves in groups; those of a group run one after the other on one core.

    Seeds are the outer loop, so that a run that stops early has seen as many instances as possible.
    """
    # Solves compare fairly that were interleaved: with equal methods, instances, seeds and warm-up.
    identities = [method.identity for method in methods.values()]
    facts = [identities, [instance.digest for instance in instances], config.seeds, config.warm_up_s]
    scope = hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]
    labels, groups = list(methods), []
    for number, seed in enumerate(config.seeds):
        settings = SolveSettings(solver=solver, time_limit_s=config.time_limit_s, seed=seed)
        for position, instance in enumerate(instances):
            first = (position + number) % len(labels)
            order = labels[first:] + labels[:first]
            jobs = (SolveJob.of(instance, methods[label], settings, scope) for label in order)
            groups.append(tuple(Cell(*one, instance.group) for one in zip(order, jobs, strict=True)))
    return groups


def measure(groups: Sequence[tuple[Cell, ...]], pool: Workers, store: Store, **options: Any) -> list[Cell]:
    """Do the solves that are not stored yet, and return all in the order given; see `run_solves` for the options."""
    solved = run_solves([[cell.job for cell in group] for group in groups], store, pool, **options)
    cells = (cell for group in groups for cell in group)
    return [replace(cell, solved=one) for cell, one in zip(cells, solved, strict=True)]


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
    turn, the instances and their groups, the protocol, SCIP's settings and the machine. SCIP's own rules use nothing
    up: 0 for one.
    """
    how = config.model_dump(mode="json", exclude={"instances", "most_instances", "tuned_rpb"})
    solved = [[one.digest, one.group] for one in instances]
    facts = [[one.identity for one in methods], solved, how, solver.digest, here()]
    groups, by = marks(instances), digest_of(facts)[:16]
    uses = [
        0 if isinstance(rule, ScipMethod) else store.serve(groups, "test", f"{key_of(rule)}{by}")
        for rule in rules
    ]
    return uses[0]
