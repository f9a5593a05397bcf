"""What a race saves and whom it gives up wrongly, replayed on measured costs.

Takes the folder `costs` that `bench.fidelity --store` writes. Each of the best eight rules is the one to beat once,
all others run against it in `--orders` orders of the instances, under several settings of `bife_core.fidelity.racing`.
One JSON object a line: `solves`, the share of the instances that rules solve which are costlier over all instances;
`wrongly`, the share of the rules that are cheaper over all instances and are given up; `by_much`, the same of those
that are cheaper by 5 % or more.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench import emit, parser_of
from bife_core.fidelity.racing import blocks, lost

TO_BEAT = 8


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("costs", type=Path, help="folder of costs of bench.fidelity")
    parser.add_argument("--orders", type=int, default=5)
    options = parser.parse_args()
    families = sorted({file.stem.rpartition("-")[0] for file in options.costs.glob("*.json")})
    for family in families:
        costs = costs_of(options.costs, family)
        for heat, alpha in itertools.product((1, 2, 4), (0.05, 0.1)):
            found = replayed(costs, heat, alpha, options.orders)
            shape = {"family": family, "rules": len(costs), "instances": costs.shape[1]}
            emit(shape | {"heat": heat, "alpha": alpha} | found)


def costs_of(folder: Path, family: str) -> npt.NDArray[np.float64]:
    """Return the costs of all rules that have one on every instance and seed, an instance and seed a column."""
    rows = [json.loads(file.read_text()) for file in sorted(folder.glob(f"{family}-*.json"))]
    width = max(len(row) for row in rows[0])
    columns = [[row if len(row) == width else [None] * width for row in seed] for seed in rows]
    matrix = np.concatenate([np.array(seed, dtype=np.float64) for seed in columns], axis=1)
    return np.asarray(matrix[np.isfinite(matrix).all(axis=1)])


def replayed(costs: npt.NDArray[np.float64], block: int, alpha: float, orders: int) -> dict[str, float]:
    """Return what races against each of the best rules come to."""
    shares: list[float] = []
    wrongly: list[tuple[float, bool]] = []
    ranking = np.argsort(costs.mean(axis=1), kind="stable")
    for elite, rule, order in itertools.product(ranking[:TO_BEAT], range(len(costs)), range(orders)):
        if rule == elite:
            continue
        solved = race(costs[rule], costs[elite], block, alpha, order)
        times = costs[rule].mean() / costs[elite].mean()
        if times > 1:
            shares.append(solved / costs.shape[1])
        else:
            wrongly.append((times, solved < costs.shape[1]))
    by_much = [given_up for times, given_up in wrongly if times <= 0.95]
    return {
        "solves": round(float(np.mean(shares)), 3),
        "wrongly": round(float(np.mean([given_up for _, given_up in wrongly])), 3),
        "by_much": round(float(np.mean(by_much)), 3) if by_much else 0.0,
    }


def race(
    own: npt.NDArray[np.float64], other: npt.NDArray[np.float64], block: int, alpha: float, seed: int
) -> int:
    """Return on how many instances a rule is solved with before it is given up, all of them if it is not."""
    done: list[int] = []
    for some in blocks(range(len(own)), block, seed):
        done += some
        if lost(own[done].tolist(), other[done].tolist(), float(other.sum()), alpha):
            break
    return len(done)


if __name__ == "__main__":
    main()
