"""Bayesian optimisation of the numbers of a program, one setting after the other (optuna's TPE)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from bife_core.rules.literals import literals, with_literals

if TYPE_CHECKING:
    import optuna

PENALTY: Final = 1e20
"""Cost of a setting whose solves failed: SCIP's infinity. TPE goes by rank, so its size does not matter."""

_DIGITS: Final = 6
_RANGE: Final = 10.0
"""How far a number may move from what was written, up and down, as a ratio."""


class Parameter(NamedTuple):
    """A positive number that may be set anew."""

    name: str
    value: float

    @property
    def bounds(self) -> tuple[float, float]:
        """Least and largest value it may take."""
        return self.value / _RANGE, self.value * _RANGE


def parameters(source: str) -> tuple[Parameter, ...]:
    """Return the numbers in a program's text, named by their order."""
    return tuple(Parameter(f"c{place}", literal.value) for place, literal in enumerate(literals(source)))


def with_values(source: str, values: Mapping[str, float]) -> str:
    """Return a program with its numbers set to these values."""
    places = literals(source)
    return with_literals(source, places, [repr(values[f"c{place}"]) for place in range(len(places))])


class Tuner:
    """Proposes settings and learns what they cost.

    The first setting is the present one, then settings are drawn, then a model of good and bad settings proposes.
    The same seed and costs give the same proposals.

    Parameters
    ----------
    calls, initial : int
        Settings in all, and those of them before the model takes over.
    seed : int
        Seed of all draws.
    """

    def __init__(self, parameters: Sequence[Parameter], *, calls: int, initial: int, seed: int) -> None:
        self._parameters = tuple(parameters)
        self._left = calls if parameters else 0
        self._initial = initial
        self._seed = seed
        self._trial: optuna.trial.Trial | None = None
        self._best = (math.inf, {parameter.name: parameter.value for parameter in parameters})

    @property
    def best(self) -> dict[str, float]:
        """The cheapest setting so far, the first of equal ones; the present one while none has been solved with."""
        return self._best[1]

    @property
    def done(self) -> bool:
        """Whether all calls are spent."""
        return self._left == 0

    def propose(self) -> dict[str, float]:
        """Return the setting to try next; the same until `learn` is given its cost."""
        if self._trial is None:
            self._trial = self._study.ask(self._distributions)
        # Six digits are enough, and keep the rule's text readable.
        return {name: float(f"{value:.{_DIGITS}g}") for name, value in self._trial.params.items()}

    @cached_property
    def _study(self) -> optuna.Study:
        # Takes a second to import, and most searches tune nothing.
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        sampler = optuna.samplers.TPESampler(seed=self._seed, n_startup_trials=self._initial)
        study = optuna.create_study(sampler=sampler)
        study.enqueue_trial({parameter.name: parameter.value for parameter in self._parameters})
        return study

    @cached_property
    def _distributions(self) -> dict[str, optuna.distributions.BaseDistribution]:
        from optuna.distributions import FloatDistribution

        return {
            parameter.name: FloatDistribution(*parameter.bounds, log=True) for parameter in self._parameters
        }

    def learn(self, cost: float | None) -> None:
        """Take the cost of the proposed setting; None if its solves failed, which counts as `PENALTY`."""
        tried = self.propose()
        assert self._trial is not None
        self._study.tell(self._trial, PENALTY if cost is None else cost)
        self._trial = None
        self._left -= 1
        if cost is not None and cost < self._best[0]:
            self._best = (cost, tried)
