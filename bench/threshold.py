"""What the threshold tau does to a search: a toy study of the real `BifeSearch`, without a solver.

A rule has two traits, its true quality and a habit of agreeing with strong branching that helps no solve. Both are
standard normal in first rules; a child has `--heritability` times the mean of its parents', and noise. F_HF is the
quality seen through a little noise, F_LF a mix of quality and habit; in first rules the two correlate as chosen.
All noise is drawn from the seed and the sample's id: runs of one seed meet the same luck under every setting.

One JSON object a line, for each correlation and setting: `locked`, the share of runs with at most one solve in the last
ten generations; `solves` a run; `quality`, the mean true quality of the final rule, in standard deviations of first
rules; `gain`, its paired difference to the paper's setting; `gain_equal_solves`, the same where both runs are stopped
at the number of solves that the one with fewer made. Gains are [mean, low, high], with a 95 % interval over seeds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import scipy.stats
from numpy.typing import ArrayLike

from bench import parser_of, tell
from bife_core.presets import preset
from bife_core.search import (
    Answer,
    GenerationSummary,
    Request,
    SampleAnswer,
    SampleRequest,
    SolveAnswer,
    open_search,
)
from bife_core.search.config import SearchConfig

SETTINGS: Final[dict[str, dict[str, Any]]] = {
    "paper": {},
    "quantile 0.5": {"threshold_quantile": 0.5},
    "share 0.1": {"threshold_share": 0.1},
    "share 0.25": {"threshold_share": 0.25},
    "share 0.5": {"threshold_share": 0.5},
    "quantile 0.5, share 0.1": {"threshold_quantile": 0.5, "threshold_share": 0.1},
    "elite_cap 8": {"elite_cap": 8},
    "elite_cap 8, share 0.1": {"elite_cap": 8, "threshold_share": 0.1},
    "every rule": {"method": "bife_without_f_lf"},
}
"""What is compared: name -> the settings of the search that are not the paper's; the paper is first."""


@dataclass
class Toy:
    """Answers a search by rules with two inherited traits, and notes what each solve would have found."""

    seed: int
    correlation: float
    heritability: float
    reliability: float
    traits: dict[str, tuple[float, float]] = field(default_factory=dict)
    solved: list[tuple[float, float]] = field(default_factory=list)
    """F_HF and true quality, in the order solved."""

    def __call__(self, request: Request) -> Answer:
        """Answer a request of the search."""
        rng = np.random.default_rng([self.seed, *request.id.encode(), request.kind == "solve"])
        if isinstance(request, SampleRequest):
            quality, habit = rng.standard_normal(2)
            if request.parents:
                parents = np.mean([self.traits[parent.id] for parent in request.parents], axis=0)
                quality, habit = (
                    mix(*pair, self.heritability) for pair in zip(parents, (quality, habit), strict=True)
                )
            self.traits[request.id] = (quality, habit)
            f_lf = mix(quality, habit, self.correlation / self.reliability)
            return SampleAnswer(id=request.id, sha=request.id, f_lf=f_lf)
        quality, _ = self.traits[request.id]
        f_hf = mix(quality, rng.standard_normal(), self.reliability)
        self.solved.append((f_hf, quality))
        return SolveAnswer(id=request.id, f_hf=f_hf)

    def quality(self, solves: int | None = None) -> float:
        """Return the true quality of the rule of best F_HF after some solves, or all."""
        return max(self.solved[:solves])[1]


def mix(signal: float, noise: float, weight: float) -> float:
    """Return weight * signal + noise, the noise scaled so that a variance of 1 is kept."""
    return float(weight * signal + math.sqrt(1 - weight**2) * noise)


def play(toy: Toy, settings: dict[str, Any]) -> tuple[GenerationSummary, ...]:
    """Run a search of the paper's size to its end."""
    paper = preset("paper").search.model_dump()
    search = open_search(SearchConfig.model_validate(paper | {"seed": toy.seed} | settings))
    while requests := search.ask():
        search.tell(tuple(toy(request) for request in requests))
    return search.summaries


def locked(summaries: tuple[GenerationSummary, ...]) -> bool:
    """Whether the last ten generations solved with one rule at most."""
    return sum(summary.solved for summary in summaries[-10:]) <= 1


def interval(differences: ArrayLike) -> list[float]:
    """Return the mean of paired differences and the ends of its 95 % t interval."""
    values = np.asarray(differences, dtype=np.float64)
    half = float(scipy.stats.t.ppf(0.975, values.size - 1) * scipy.stats.sem(values))
    mean = float(values.mean())
    return [round(one, 2) for one in (mean, mean - half, mean + half)]


def study(
    correlation: float, heritability: float, reliability: float, seeds: range
) -> Iterator[dict[str, Any]]:
    """Yield a row for each setting."""
    paper: list[Toy] = []
    for name, settings in SETTINGS.items():
        toys = [Toy(seed, correlation, heritability, reliability) for seed in seeds]
        stuck = [locked(play(toy, settings)) for toy in toys]
        paper = paper or toys
        gains = [
            (own.quality() - its.quality(), own.quality(k) - its.quality(k))
            for own, its in zip(toys, paper, strict=True)
            for k in (min(len(own.solved), len(its.solved)),)
        ]
        all_solves, equal_solves = zip(*gains, strict=True)
        yield {
            "correlation": correlation,
            "setting": name,
            "locked": float(np.mean(stuck)),
            "solves": round(float(np.mean([len(toy.solved) for toy in toys])), 1),
            "quality": round(float(np.mean([toy.quality() for toy in toys])), 2),
            "gain": interval(all_solves),
            "gain_equal_solves": interval(equal_solves),
        }


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--correlations", type=float, nargs="+", default=[0.1, 0.4, 0.7])
    parser.add_argument("--heritability", type=float, default=0.5)
    parser.add_argument(
        "--reliability", type=float, default=0.9, help="correlation of F_HF with the true quality"
    )
    parser.add_argument("--runs", type=int, default=200, help="seeds, from 0 on")
    options = parser.parse_args()
    for correlation in options.correlations:
        for row in study(correlation, options.heritability, options.reliability, range(options.runs)):
            tell(row)


if __name__ == "__main__":
    main()
