"""Bayesian optimisation of the numbers of a program, one setting after the other (optuna's TPE)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Final

from bife_core.extend import literals, with_literals

if TYPE_CHECKING:
    import optuna

PENALTY: Final = 1e20
"""Cost of a setting whose solves failed: SCIP's infinity. TPE goes by rank, so its size does not matter."""

_RANGE: Final = 10.0
"""How far a number may move from what was written, up and down, as a ratio."""


def parameters(source: str) -> dict[str, float]:
    """Return the numbers in a program's text that may be set anew, named by their order."""
    return {f"c{place}": literal.value for place, literal in enumerate(literals(source))}


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
    parameters : mapping of str to float
        Positive numbers by name, as they are at present.
    calls, initial : int
        Settings in all, and those of them before the model takes over.
    seed : int
        Seed of all draws.
    """

    def __init__(self, parameters: Mapping[str, float], *, calls: int, initial: int, seed: int) -> None:
        self._parameters = dict(parameters)
        self._calls, self.tried = calls if parameters else 0, 0
        self._initial = initial
        self._seed = seed
        self._trial: optuna.trial.Trial | None = None
        self._best = (math.inf, self._parameters)

    @property
    def best(self) -> dict[str, float]:
        """The cheapest setting so far, the first of equal ones; the present one while none has been solved with."""
        return self._best[1]

    @property
    def done(self) -> bool:
        """Whether all calls are spent."""
        return self.tried == self._calls

    def propose(self) -> dict[str, float]:
        """Return the setting to try next; the same until `learn` is given its cost."""
        if self._trial is None:
            self._trial = self._study.ask()
            for name, value in self._parameters.items():
                self._trial.suggest_float(name, value / _RANGE, value * _RANGE, log=True)
        # Six digits are enough, and keep the rule's text readable.
        return {name: float(f"{value:.6g}") for name, value in self._trial.params.items()}

    @cached_property
    def _study(self) -> optuna.Study:
        # Takes a second to import, and most searches tune nothing.
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        sampler = optuna.samplers.TPESampler(seed=self._seed % 2**32, n_startup_trials=self._initial)
        study = optuna.create_study(sampler=sampler)
        study.enqueue_trial(self._parameters)
        return study

    def learn(self, cost: float | None) -> None:
        """Take the cost of the proposed setting; None if its solves failed, which counts as `PENALTY`."""
        tried = self.propose()
        assert self._trial is not None
        self._study.tell(self._trial, PENALTY if cost is None else cost)
        self._trial = None
        self.tried += 1
        if cost is not None and cost < self._best[0]:
            self._best = (cost, tried)
