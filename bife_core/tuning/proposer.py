"""What is tried next: Optuna's TPE over rows of few choices."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Final, Protocol

from bife_core.base.errors import ConfigError
from bife_core.base.values import seed_below
from bife_core.tuning.space import Choices, Space

_MUTATION: Final = 0.1
"""Weight of what was not tried beside what did well, in the TPE's densities; 1 would change a fifth of all rows."""


class Proposer(Protocol):
    """Proposes choices from what is known of others."""

    def ask(self, seen: Sequence[Choices]) -> Choices:
        """Return what to try next; not what was `seen`, if there is anything else."""

    def tell(self, choices: Choices, value: float | None) -> None:
        """Enter a trial with the logarithm of its ratio to SCIP's default settings, None for one that failed."""


class Tpe:
    """The tree-structured Parzen estimator of Optuna, multivariate; a `ConfigError` says if it is not installed."""

    def __init__(self, space: Space, seed: int, mutation: float = _MUTATION) -> None:
        try:
            import optuna  # which takes a second, and no other command needs it
        except ImportError as error:
            raise ConfigError(
                "Settings are tuned by Optuna, which is not installed; run pip install 'bife-branching[operate]'."
            ) from error
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._space = space
        self._distributions: dict[str, optuna.distributions.BaseDistribution] = {
            row.name: optuna.distributions.CategoricalDistribution(row.choices) for row in space.rows
        }
        with warnings.catch_warnings():  # the weight is to go with Optuna 6, which our dependency leaves out
            warnings.simplefilter("ignore", FutureWarning)
            sampler = optuna.samplers.TPESampler(
                seed=seed_below(2**32, seed),  # which NumPy's RandomState takes
                multivariate=True,
                n_startup_trials=1,
                prior_weight=mutation,
                constant_liar=False,
            )
        self._study = optuna.create_study(sampler=sampler)
        self._create_trial = optuna.create_trial
        self._withdrawn = optuna.trial.TrialState.FAIL

    def ask(self, seen: Sequence[Choices]) -> Choices:
        """Return what to try next."""
        for _ in range(10):
            trial = self._study.ask(self._distributions)
            choices = self._space.counting(trial.params)
            self._study.tell(trial, state=self._withdrawn)
            if choices not in seen:
                break
        return choices

    def tell(self, choices: Choices, value: float | None) -> None:
        """Enter a trial; one that failed is worse than all others."""
        worst = max((one.value for one in self._study.trials if one.value is not None), default=0.0)
        params = {row.name: choices.get(row.name, row.choices[0]) for row in self._space.rows}
        value = worst + 1.0 if value is None else value
        trial = self._create_trial(params=params, distributions=self._distributions, value=value)
        self._study.add_trial(trial)
