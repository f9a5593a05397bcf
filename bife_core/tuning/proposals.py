"""What is tried: configurations in the answer of a language model, then what Optuna's TPE proposes."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from typing import Final, Protocol

from bife_core.base.errors import ConfigError
from bife_core.search.generators.parsing import printable, without_reasoning
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
                seed=seed % 2**32,  # which NumPy's RandomState takes
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
        worst = max((trial.value for trial in self._study.trials if trial.value is not None), default=0.0)
        params = {row.name: choices.get(row.name, row.choices[0]) for row in self._space.rows}
        value = worst + 1.0 if value is None else value
        trial = self._create_trial(params=params, distributions=self._distributions, value=value)
        self._study.add_trial(trial)


MOST: Final = 6
_LONGEST: Final = 1000  # configurations that are read of an answer, and characters of the reason for one

_ASSIGNED: Final = re.compile(
    r"""^\W*([A-Za-z][\w/]*)(?:`?\s*=|"\s*:)\s*["'`]?([^\s"'`,;{[]+)\W*(?:[#(].*)?$"""
)
"""A line ``name = value``, or one of JSON that is written over several lines; a remark may follow."""


def read_configurations(answer: str, space: Space) -> list[tuple[Choices, str]]:
    """Return the configurations in a model's answer, each with the words before it and what of it is left out."""
    rows, configurations = {row.name: row.choices for row in space.rows}, list[tuple[Choices, str]]()
    for reason, settings in _blocks(without_reasoning(answer)):
        choices, left_out = Choices(), list[str]()
        for name, value in settings.items():
            if name not in rows:
                left_out.append(f"{name} = {value}, which is no row of the table")
            elif choice := next((choice for choice in rows[name] if _same(choice, value)), None):
                choices[name] = choice
            else:
                left_out.append(f"{name} = {value}, which is none of {', '.join(rows[name])}")
        reason += "".join(f" [left out: {line}]" for line in left_out)
        configurations.append((space.counting(choices), printable(reason)[:_LONGEST]))
    return configurations[:MOST]


def _same(choice: str, value: str) -> bool:
    """Whether a value is a choice, in any case or as the same number, such as -1.0 for -1."""
    try:
        return float(choice) == float(value)
    except ValueError:
        return choice.lower() == value.lower()


def _blocks(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield groups of assignments, each with the last line of words before it."""
    reason, settings = "", dict[str, str]()
    for line in [*text.splitlines(), ""]:
        if assigned := _ASSIGNED.match(line):
            settings[assigned[1]] = assigned[2].rstrip(".*")
            continue
        if settings:
            yield reason or "no reason given", settings
            reason, settings = "", {}
        words = line.strip('`[]{}," ').removeprefix('reason": "')
        reason = reason if not words or words.endswith(":") else words
