"""Statistics of solve costs, from log ratios, one per instance (paper, appendix E)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import scipy  # imports what is used of it then: its statistics take most of a second
from numpy.typing import ArrayLike, NDArray

CONFIDENCE: Final = 0.95
"""Level of intervals and tests, over all uses of a test set together."""

CAP: Final = 4.4
"""Largest ratio of costs that counts in an `upper_bound`: on an instance not seen, a rule may be so much slower."""

_LARGEST_BET: Final = 0.98  # share of the wealth that a bet may lose, at most
_BELIEF: Final = (1.6, 1.12)
"""Sums of gains and of squared gains that bets begin with, as if some instances had been seen."""
_SPREAD_WEIGHT: Final = 2  # ratios that an expected spread counts as
_RESAMPLES: Final = 9999
_FEW: Final = 6  # ratios, as many as a signed-rank test needs to be significant
_LARGEST_LOG: Final = 700.0
_SAME: Final = 1e-12


@dataclass(frozen=True, slots=True)
class RatioInterval:
    """The geometric mean of ratios with its interval, whose ends are None where the data give none."""

    ratio: float
    low: float | None
    high: float | None
    note: str = ""


def geometric_mean(values: ArrayLike) -> float:
    """Return the geometric mean of positive values; raises ValueError for others, or none."""
    # In a fraction of the time of scipy.stats.gmean: comparisons ask for thousands.
    return float(np.exp(_logs(values).mean()))


def geometric_std(values: ArrayLike) -> float:
    """Return the geometric standard deviation of positive values, a factor (n - 1 degrees of freedom); 1 for one."""
    logs = _logs(values)
    return 1.0 if logs.size == 1 else float(np.exp(logs.std(ddof=1)))


def _logs(values: ArrayLike) -> NDArray[np.float64]:
    array = np.ravel(np.asarray(values, dtype=np.float64))
    if array.size == 0:
        raise ValueError("A geometric mean needs at least one value.")
    bad = array[~(np.isfinite(array) & (array > 0))]
    if bad.size:
        raise ValueError(
            f"A geometric mean needs positive, finite values, found {bad[0]}; count an instance without nodes as 1."
        )
    return np.log(array)


def ratio_interval(log_ratios: ArrayLike, confidence: float = CONFIDENCE) -> RatioInterval:
    """Return the geometric mean of ratios, from their logs, with a paired bootstrap interval (BCa, else percentile).

    Of fewer than six ratios it is Student's t interval: resamples of so few hardly scatter.
    """
    logs = np.asarray(log_ratios, dtype=np.float64)
    mean = float(np.exp(logs.mean()))
    if logs.size == 1:
        note = "one instance says nothing about others, so there is no interval"
        return RatioInterval(mean, None, None, note)
    if np.ptp(logs) < _SAME:
        note = "the ratio is the same on every instance, so the interval is a point"
        return RatioInterval(mean, mean, mean, note)
    if logs.size < _FEW:
        half = t_factor(logs.size - 1, confidence) * float(logs.std(ddof=1)) / math.sqrt(logs.size)
        low, high = np.exp(
            np.clip([logs.mean() - half, logs.mean() + half], -_LARGEST_LOG, _LARGEST_LOG)
        ).tolist()
        return RatioInterval(mean, low, high)
    for method in ("BCa", "percentile"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", scipy.stats.DegenerateDataWarning)
            interval = scipy.stats.bootstrap(
                (logs,),
                _rounded_mean,
                n_resamples=_RESAMPLES,
                confidence_level=confidence,
                method=method,
                rng=np.random.default_rng(0),
            ).confidence_interval
        if np.isfinite([interval.low, interval.high]).all():
            break
    return RatioInterval(mean, float(np.exp(interval.low)), float(np.exp(interval.high)))


def _rounded_mean(logs: NDArray[np.float64], axis: int = -1) -> NDArray[np.float64]:
    # BCa counts resamples below the observed mean: the last bits must not decide, or the platform would.
    mean: NDArray[np.float64] = np.asarray(np.mean(logs, axis=axis))
    return np.round(mean, 12)


def repeat_error(log_ratios: ArrayLike, units: ArrayLike, weights: ArrayLike) -> tuple[float, float, int]:
    """Return how far repeats scatter: of one, of the mean with these weights, and their degrees of freedom.

    Both are standard deviations of log ratios, pooled over `units`, of which each has its own mean; 0 without repeats.
    """
    logs = np.asarray(log_ratios, dtype=np.float64)
    _, places, counts = np.unique(np.asarray(units), return_inverse=True, return_counts=True)
    means = np.bincount(places, weights=logs) / counts
    freedom = logs.size - counts.size
    deviation = math.sqrt(float(((logs - means[places]) ** 2).sum()) / freedom) if freedom else 0.0
    return deviation, deviation * float(np.linalg.norm(np.asarray(weights, dtype=np.float64))), freedom


def t_factor(freedom: int, confidence: float = CONFIDENCE) -> float:
    """Return how many standard errors a two-sided interval of a mean is wide to either side (Student's t)."""
    return float(scipy.special.stdtrit(freedom, (1 + confidence) / 2))


def p_costlier(log_ratios: ArrayLike, spread: float) -> float:
    """Return the p-value of a one-sided t-test that a mean is above 0; `spread` is the deviation expected a priori."""
    logs = np.asarray(log_ratios, dtype=float)
    freedom = len(logs) - 1 + _SPREAD_WEIGHT
    deviations = float(((logs - logs.mean()) ** 2).sum())
    variance = (deviations + _SPREAD_WEIGHT * spread**2) / freedom
    return float(scipy.special.stdtr(freedom, -logs.mean() / math.sqrt(variance / len(logs))))


def signed_rank_test(log_ratios: ArrayLike) -> float:
    """Return the p-value of the exact two-sided Wilcoxon signed-rank test; equal pairs are left out, as in R."""
    # With ties, which get mean ranks, scipy's exact method is wrong.
    logs = np.asarray(log_ratios, dtype=np.float64)
    # Logarithms of equal factors differ in the last bits; ranks must not see that.
    logs = np.round(logs[np.abs(logs) >= _SAME], 12)
    if logs.size == 0:
        return 1.0
    # Mean ranks are multiples of a half, so twice the ranks are whole numbers, and sums of them index an array.
    doubled = np.rint(2 * scipy.stats.rankdata(np.abs(logs))).astype(int)
    ranks = doubled // np.gcd.reduce(doubled)
    positive = int(ranks[logs > 0].sum())
    smaller = min(positive, int(ranks.sum()) - positive)
    # Sums above the smaller one do not count, and lead to none that do.
    chance = np.zeros(smaller + 1)
    chance[0] = 1.0
    for rank in ranks:
        with_rank = 0.5 * chance[: max(smaller + 1 - rank, 0)]
        chance *= 0.5
        chance[rank:] += with_rank
    return min(1.0, 2.0 * float(chance.sum()))


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return Holm-adjusted p-values, in the order given."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)), 1.0)
    return tuple(adjusted.tolist())


def win_tie_loss(log_ratios: ArrayLike) -> tuple[int, int, int]:
    """Return how many ratios are below 1, 1, and above."""
    logs = np.asarray(log_ratios, dtype=np.float64)
    wins, losses = int(np.sum(logs < -_SAME)), int(np.sum(logs > _SAME))
    return wins, logs.size - wins - losses, losses


@dataclass(frozen=True, slots=True)
class UpperBound:
    """An anytime-valid upper confidence bound of a mean log ratio, from `logs` in the order observed.

    It is ever below the mean with a probability of at most (1 - confidence) / 2; ratios above `CAP` count as `CAP`. If
    the mean is at least m, betting on "below m" gains nothing in expectation: wealth over 1 / alpha refutes m (Ville's
    inequality; Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting", 2024). The share bet
    is the mean over the second moment of earlier observations and `_BELIEF`.
    """

    logs: tuple[float, ...]
    threshold: float

    @classmethod
    def of(cls, logs: ArrayLike, confidence: float = CONFIDENCE) -> UpperBound:
        """Return the bound for log ratios at a two-sided level."""
        seen = np.minimum(np.asarray(logs, dtype=np.float64), math.log(CAP))
        return cls(tuple(seen.tolist()), math.log(2 / (1 - confidence)))

    def missing(self, mean: float) -> float:
        """Return the log wealth missing to refute `mean`, 0 once it was refuted."""
        most = _LARGEST_BET / (math.log(CAP) - mean)
        gained, squares = _BELIEF
        wealth = 0.0
        for log in self.logs:
            wealth += math.log1p(min(max(gained / squares, 0.0), most) * (mean - log))
            if wealth >= self.threshold:
                return 0.0
            gained, squares = gained + mean - log, squares + (mean - log) ** 2
        return self.threshold - wealth

    @property
    def value(self) -> float:
        """The bound, as a log ratio."""
        low, high = min(self.logs), math.log(CAP) - 1e-9
        while high - low > 1e-6:
            middle = (low + high) / 2
            low, high = (low, middle) if self.missing(middle) == 0.0 else (middle, high)
        return high

    def further(self, log: float) -> float:
        """Return how many more observations of a log ratio make the bound negative; infinite if none do."""
        rate = math.log1p(_LARGEST_BET / math.log(CAP) * max(-log, 0.0))
        return math.ceil(self.missing(0.0) / rate) if rate else (math.inf if self.missing(0.0) else 0.0)


def share_bound(count: int, of: int) -> float:
    """Return the exact 95 % upper limit of a share, seen in `count` of `of` cases (Clopper, Pearson)."""
    return 1.0 if count >= of else float(scipy.stats.beta.ppf(CONFIDENCE, count + 1, of - count))


def confidence_of(use: int, confidence: float) -> float:
    """Return the level of intervals and tests for one use of a test set, 1 for the first (alpha spending).

    The first use spends nine tenths of the error that `confidence` leaves, all later ones together the rest.

    Examples
    --------
    >>> [round(confidence_of(use, 0.95), 4) for use in (1, 2, 3, 10)]
    [0.955, 0.9975, 0.9992, 0.9999]
    """
    return 1 - (1 - confidence) * (0.9 if use == 1 else 0.1 / (use * (use - 1)))


def fewest_instances(confidence: float, ratio: float = 0.5) -> int:
    """Return the number of instances that give an `UpperBound` below 1 if each ratio is `ratio`."""
    log = math.log(ratio)
    return 1 + int(UpperBound.of([log], confidence).further(log))
