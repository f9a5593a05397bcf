"""What is reported of a solve, and what of many solves: means, spreads, wins, solved counts, by pandas."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bife_core.base.stats import geometric_mean, geometric_std
from bife_core.solver.methods.base import Method
from bife_core.solver.methods.references import beside_branching
from bife_core.solver.scip.cost import BY_OBJECTIVE, LARGEST_GAP, LARGEST_OBJECTIVE, LEAST, TICK_S, Cost
from bife_core.solver.scip.solve import DONE, Objectives, SolveResult, best_known

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

_CHARGE_FACTOR: Final = 10.0
"""A solve without a count costs this often the most that any method took on the same instance and seed."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One number of a solve, read from the field `column` of `SolveResult`.

    `name` stands in files, `label` in tables, `words` in sentences, and `unit` after a number (empty for counts).
    Smaller values count as `least`, see `bife_core.solver.scip.cost.LEAST`. A missing solve costs at least `worst`
    and `worst_per_s` for each second of the time limit, or, where both are 0, a multiple of what others took. One of
    `work` does not count what a user waits for.
    """

    name: str
    label: str
    words: str
    column: str
    least: float
    unit: str = ""
    worst: float = 0.0
    worst_per_s: float = 0.0
    work: bool = False

    @property
    def cost(self) -> str:
        """Column of a `solve_frame` with what every solve is charged."""
        return f"cost_{self.name}"

    def of(self, frame: pd.DataFrame) -> pd.Series[float]:
        """Return what every solve of a `solve_frame` is charged, at least `least`; unknown values are NaN."""
        return frame[self.cost].clip(lower=self.least)

    def charged(
        self, frame: pd.DataFrame, same: NDArray[np.integer[Any]], time_limit_s: float
    ) -> pd.Series[float]:
        """Return the column of a frame, with `missing` and `solved`, with what solves that are missing cost.

        `same` numbers the instance and seed of each.
        """
        values = frame[self.column].mask(frame["missing"])
        floor = self.worst + self.worst_per_s * time_limit_s
        if self.column in ("cpu_s", "wall_s"):  # a solve that ran out of memory early was not fast
            values = values.where(frame["solved"], values.clip(lower=floor))
        costliest = _largest(values.clip(lower=self.least), same)
        charge = costliest.clip(lower=floor).fillna(floor) if floor else _CHARGE_FACTOR * costliest
        # What no method has a value of costs all the same.
        failed_by_all = _largest(frame["missing"].astype(float), same).gt(0) & charge.isna()
        # A sound solve whose value is unknown costs the worst there is, and stays unknown where there is none.
        charged = charge if floor else charge.where(frame["missing"])
        return values.fillna(charged.mask(failed_by_all, 1.0))


def _largest(values: pd.Series[float], same: NDArray[np.integer[Any]]) -> pd.Series[float]:
    """Return the largest of the values of the same number, for each; NaN where none is known."""
    import pandas as pd

    largest = np.full(len(values), np.nan)
    np.fmax.at(largest, same, values.to_numpy(float))  # a tenth of what pandas takes to group
    return pd.Series(largest[same], values.index)


def _cost(name: Cost, label: str, words: str, **more: Any) -> Metric:
    return Metric(name, label, words, "cpu_s" if name == "time" else name, LEAST[name], **more)


METRICS: Final[Mapping[str, Metric]] = {
    metric.name: metric
    for metric in (
        _cost("time", "Time", "CPU time", unit="CPU s", worst_per_s=1.0),
        Metric("wall", "Wall time", "wall time", "wall_s", TICK_S, "s", worst_per_s=1.0),
        _cost("nodes", "Nodes", "nodes", work=True),
        Metric("fair_nodes", "Fair nodes", "fair nodes", "fair_nodes", 1.0, work=True),
        _cost("lp_iterations", "LP iterations", "LP iterations", work=True),
        _cost("gap", "Gap", "final gap", worst=LARGEST_GAP),
        _cost("primal_dual_integral", "PDI", "primal-dual integral"),
        _cost("primal_integral", "Primal integral", "primal integral", unit="s", worst_per_s=1.0),
        _cost("objective", "Objective / best", "objective over the best known", worst=LARGEST_OBJECTIVE),
    )
}
"""All metrics by name; every `Cost` is one of them."""


def judged_by(metric: Cost) -> Cost:
    """Return what a rule is judged by before it may be champion: `metric`, or time where that counts work."""
    return "time" if METRICS[metric].work else metric


def solve_frame(
    rows: Sequence[Mapping[str, Any]],
    time_limit_s: float = 0.0,
    methods: Mapping[str, Method] | None = None,
    stored: Objectives | None = None,
) -> pd.DataFrame:
    """Return the rows of an `EvaluationSummary` as a frame in which every solve has its cost.

    A solve with a `failure` is `missing`: it gave no result, or a wrong one. `solved` is whether it ended with a
    proof, or at the gap asked for. Columns such as `cpu_s` and `nodes` are as measured, NaN where nothing was; those of
    the metrics (`cost_time`, `cost_nodes`, ...) are what a solve is charged: a missing one too, and one without a proof
    `time_limit_s` at least. A metric that no row has, recorded before it existed, is NaN in all. Those by the objective
    are relative to the best of all sound rows of the instance and of those `stored`. An instance without a `group` is
    one of its own. `beside_branching` is as of `methods`, by label, else empty.
    """
    import pandas as pd  # which what only names metrics does without

    frame = pd.DataFrame([dict(row) for row in rows])
    frame["group"] = frame.get("group", frame["digest"])
    beside = {label: beside_branching(method) for label, method in (methods or {}).items()}
    frame["beside_branching"] = [beside.get(label, "") for label in frame["method"]]
    frame["missing"] = frame["failure"].notna() if "failure" in frame else False
    frame["solved"] = frame["status"].isin(DONE) & ~frame["missing"]
    solves = [
        SolveResult.model_construct(**row) if row.get("incumbents") is not None else None for row in rows
    ]
    objectives = best_known(itertools.compress(solves, ~frame["missing"]), stored)
    for cost in BY_OBJECTIVE if any(solves) else ():
        frame[cost] = [
            float("nan") if solve is None else solve.cost(cost, objectives.get(solve.digest), time_limit_s)
            for solve in solves
        ]
    same = frame.groupby(["digest", "seed"], sort=False).ngroup().to_numpy()
    for metric in METRICS.values():
        if metric.column in frame:
            frame[metric.column] = pd.to_numeric(frame[metric.column], errors="coerce")
            frame[metric.cost] = metric.charged(frame, same, time_limit_s)
        else:
            frame[metric.column] = frame[metric.cost] = float("nan")
    return frame


def method_table(frame: pd.DataFrame, cost: Cost = "time") -> pd.DataFrame:
    """Return what each method of a `solve_frame` did, by method.

    Columns: `solves`, `solved`, `missing`, `wins` (groups on which no method has a smaller geometric mean of `cost`),
    `inference_share`, and of each metric the geometric mean `<name>` and standard deviation `<name>_spread`, or NaN.
    """
    valued = frame.assign(cost=METRICS[cost].of(frame)).dropna(subset=["cost"])
    costs = valued.groupby(["group", "method"], sort=False)["cost"]
    means = costs.agg(geometric_mean).unstack("method").dropna()
    wins = means.le(means.min(axis="columns") * (1 + 1e-12), axis="index").sum()
    by_method = frame.groupby("method", sort=False)
    table = by_method.agg(solves=("solved", "size"), solved=("solved", "sum"), missing=("missing", "sum"))
    table["wins"] = wins.reindex(table.index, fill_value=0)
    table["inference_share"] = [inference_share(solves) for _, solves in by_method]
    for metric in METRICS.values():
        costs_of = [metric.of(solves).dropna() for _, solves in by_method]
        for name, of in ((metric.name, geometric_mean), (f"{metric.name}_spread", geometric_std)):
            table[name] = [of(values) if len(values) else float("nan") for values in costs_of]
    return table


def inference_share(solves: pd.DataFrame) -> float:
    """Return the share of the CPU time of some solves that went into branching, between 0 and 1; NaN if unknown."""
    branching_s, total_s = solves.dropna(subset=["branching_s"])[["branching_s", "cpu_s"]].sum()
    # SCIP's clock of its own rules goes on by ticks, which a short solve has few of.
    return min(float(branching_s / total_s), 1.0) if total_s > 0 else float("nan")
