"""RPB's parameters tuned on the design instances: the baseline that a practitioner would choose (Optuna's TPE).

Every solve is found again in the store and the same costs give the same proposals, so that tuning which was stopped
goes on, and done again costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from bife_core.benchmarks.base import Instance
from bife_core.errors import ConfigError
from bife_core.evaluation.metrics import METRICS
from bife_core.fidelity.high import ToBeat, score_high
from bife_core.fidelity.solving import Solving, cost_of, measure_reference
from bife_core.methods.tuned_rpb import TunedRpb
from bife_core.scip.cost import Cost
from bife_core.scip.solver import Parameter
from bife_core.stats import geometric_mean
from bife_core.values import Value
from bife_core.wording import counted

if TYPE_CHECKING:
    import optuna

SPACE: Final[dict[str, tuple[int, int] | tuple[float, float] | str]] = {
    "branching/relpscost/minreliable": (0.1, 10.0),
    "branching/relpscost/maxreliable": (0.5, 20.0),
    "branching/relpscost/sbiterquot": (0.01, 2.0),
    "branching/relpscost/sbiterofs": (100, 1_000_000),
    "branching/relpscost/maxlookahead": (1, 30),
    "branching/relpscost/initcand": (4, 400),
    "branching/relpscost/inititer": (0, 50),
    "branching/relpscost/conflictweight": (1e-4, 1.0),
    "branching/relpscost/inferenceweight": (1e-6, 1e-1),
    "branching/relpscost/cutoffweight": (1e-6, 1e-1),
    "branching/scorefac": (0.0, 1.0),
    "branching/scorefunc": "psq",
    "branching/lpgainnormalize": "dls",
}
"""What is tuned: bounds of numbers, which are on a logarithmic scale unless they begin at 0, or letters."""

LEAN: Final[dict[str, Parameter]] = {
    "branching/relpscost/maxreliable": 1.0,
    "branching/relpscost/maxlookahead": 4,
    "branching/relpscost/initcand": 20,
}
"""Less strong branching: what is tried first."""


class Trial(Value):
    """Settings of RPB that were tried.

    `ratio` is the geometric mean over the design instances of the cost over RPB's, None where the trial was given up,
    and `cpu_s` the CPU seconds of its solves.
    """

    params: dict[str, Parameter]
    ratio: float | None
    cpu_s: float


class Tuning(Value):
    """RPB as it was tuned: the best of all trials, of which the first is RPB as it is."""

    trials: tuple[Trial, ...]
    instances: int
    cost: Cost

    @property
    def best(self) -> Trial:
        """The trial of the least ratio, the first of equal ones."""
        return min(self.trials, key=lambda trial: math.inf if trial.ratio is None else trial.ratio)

    @property
    def method(self) -> TunedRpb:
        """RPB with the best parameters; without any if none are better than SCIP's."""
        return TunedRpb(params=self.best.params)

    @property
    def cpu_s(self) -> float:
        """CPU seconds of all solves."""
        return math.fsum(trial.cpu_s for trial in self.trials)

    @property
    def sentence(self) -> str:
        """The outcome."""
        tried = f"{counted(len(self.trials) - 1, 'setting')} in {self.cpu_s:.0f} CPU seconds"
        where = f"on {counted(self.instances, 'design instance')}"
        if not self.best.params:
            return f"Tuned RPB is RPB: no better parameters were found {where}, by trying {tried}."
        words = METRICS[self.cost].words
        return f"Tuned, RPB takes {self.best.ratio:.3f} of its {words} {where}, the best of {tried}."


def tune_rpb(
    instances: Sequence[Instance],
    solving: Solving,
    budget_s: float,
    *,
    seed: int = 0,
    trials: int = 500,
    progress: Callable[[int, int], None] | None = None,
) -> Tuning:
    """Tune RPB for as long as its solves have taken less than `budget_s` CPU seconds, and `trials` are left.

    Trials are measured as F_HF is, and raced against the best so far. RPB as it is comes first, so that what is
    returned is never worse on these instances. Raises what `score_high` does, and `ConfigError` without Optuna.
    """
    config = solving.config.model_copy(update={"race": True})
    solving = replace(solving, config=config)
    reference = measure_reference(instances, solving)
    rpb = [None if one is None else cost_of(one, config) for one in reference.results]
    done, best = [Trial(params={}, ratio=1.0, cpu_s=reference.cpu_s)], rpb
    sampler = _Sampler(seed)
    while (spent := math.fsum(one.cpu_s for one in done)) < budget_s and len(done) < trials:
        if progress is not None:
            progress(int(spent), math.ceil(budget_s))
        params = sampler.ask()
        to_beat = ToBeat(best, best)
        score = score_high(TunedRpb(params=params), instances, solving, reference=reference, to_beat=to_beat)
        pairs = zip(score.costs, rpb, strict=True)
        ratios = [one / other for one, other in pairs if one is not None and other is not None]
        ratio = None if score.f_hf is None else geometric_mean(ratios)
        if ratio is not None and ratio < min(one.ratio for one in done if one.ratio is not None):
            best = list(score.costs)
        sampler.tell(ratio)
        done.append(Trial(params=TunedRpb(params=params).params, ratio=ratio, cpu_s=score.cpu_s))
    return Tuning(trials=tuple(done), instances=sum(cost is not None for cost in rpb), cost=config.cost)


class _Sampler:
    """Proposes parameters, RPB's own and `LEAN` first, and learns their ratio."""

    def __init__(self, seed: int) -> None:
        try:
            import optuna  # which takes a second, and no other command needs it
        except ImportError as error:
            raise ConfigError(
                "RPB is tuned by Optuna, which is not installed; run pip install 'bife-branching[operate]'."
            ) from error
        import pyscipopt

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
        self._space = {name: _distribution(given) for name, given in SPACE.items()}
        own = pyscipopt.Model().getParams()
        usual = {name: own[name] for name in SPACE}
        self._study.add_trial(optuna.create_trial(params=usual, distributions=self._space, value=1.0))
        self._study.enqueue_trial(usual | LEAN)

    def ask(self) -> dict[str, Parameter]:
        """Return what to try next."""
        self._trial = self._study.ask(self._space)
        return {
            name: float(f"{value:.4g}") if isinstance(value, float) else value
            for name, value in self._trial.params.items()
            if name != "branching/scorefac" or self._trial.params["branching/scorefunc"] == "s"
        }

    def tell(self, ratio: float | None) -> None:
        """Take the ratio of what was asked for last; None if it was given up."""
        from optuna.trial import TrialState

        state = TrialState.PRUNED if ratio is None else TrialState.COMPLETE
        self._study.tell(self._trial, ratio, state)


def _distribution(given: tuple[float, float] | str) -> optuna.distributions.BaseDistribution:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if isinstance(given, str):
        return CategoricalDistribution(tuple(given))
    low, high = given
    kind: Any = IntDistribution if isinstance(low, int) else FloatDistribution
    distribution: optuna.distributions.BaseDistribution = kind(low, high, log=low > 0)
    return distribution
