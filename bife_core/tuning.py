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
from bife_core.fidelity.high import score_high
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
    study, space = _study(seed)
    from optuna.trial import TrialState

    while (spent := math.fsum(one.cpu_s for one in done)) < budget_s and len(done) < trials:
        if progress is not None:
            progress(int(spent), math.ceil(budget_s))
        trial = study.ask(space)
        method = TunedRpb(params=_parameters(trial.params))
        score = score_high(method, instances, solving, reference=reference, to_beat=best, best=best)
        pairs = zip(score.costs, rpb, strict=True)
        ratios = [one / other for one, other in pairs if one is not None and other is not None]
        ratio = None if score.f_hf is None else geometric_mean(ratios)
        if ratio is not None and ratio < min(one.ratio for one in done if one.ratio is not None):
            best = list(score.costs)
        study.tell(trial, ratio, TrialState.PRUNED if ratio is None else TrialState.COMPLETE)
        done.append(Trial(params=method.params, ratio=ratio, cpu_s=score.cpu_s))
    return Tuning(trials=tuple(done), instances=sum(cost is not None for cost in rpb), cost=config.cost)


def _study(seed: int) -> tuple[optuna.Study, dict[str, optuna.distributions.BaseDistribution]]:
    """Return a study that proposes RPB's own parameters and `LEAN` first, and what it chooses from."""
    try:
        import optuna  # which takes a second, and no other command needs it
    except ImportError as error:
        raise ConfigError(
            "RPB is tuned by Optuna, which is not installed; run pip install 'bife-branching[operate]'."
        ) from error
    import pyscipopt
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    space: dict[str, optuna.distributions.BaseDistribution] = {}
    for name, given in SPACE.items():
        if isinstance(given, str):
            space[name] = CategoricalDistribution(tuple(given))
        else:
            kind: Any = IntDistribution if isinstance(given[0], int) else FloatDistribution
            space[name] = kind(*given, log=given[0] > 0)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    own = pyscipopt.Model().getParams()
    usual = {name: own[name] for name in SPACE}
    study.add_trial(optuna.create_trial(params=usual, distributions=space, value=1.0))
    study.enqueue_trial(usual | LEAN)
    return study, space


def _parameters(proposed: dict[str, Any]) -> dict[str, Parameter]:
    """Return what a trial sets, in four digits: the factor of the score is read for one kind of score alone."""
    return {
        name: float(f"{value:.4g}") if isinstance(value, float) else value
        for name, value in proposed.items()
        if name != "branching/scorefac" or proposed["branching/scorefunc"] == "s"
    }
