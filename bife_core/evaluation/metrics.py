"""What is reported of a solve, and what of many solves: means, spreads, wins, solved counts, by pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from bife_core.scip.cost import Cost
from bife_core.stats import geometric_mean, geometric_std, shifted_geometric_mean

PROVEN: Final = ("optimal", "infeasible", "unbounded", "inforunbd")
"""Statuses of a solve that ended with a proof."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One number of a solve.

    Attributes
    ----------
    name, label : str
        Name in files, and in tables for people.
    column : str
        Field of `SolveResult` it is read from.
    least : float
        What smaller values count as, since geometric means need positive ones.
    unit : str
        Words after a number; empty for counts.
    words : str
        What a sentence calls it.
    """

    name: str
    label: str
    column: str
    least: float
    unit: str
    words: str

    def of(self, frame: pd.DataFrame) -> pd.Series[float]:
        """Return the metric of every solve of a frame, at least `least`; unknown values are NaN."""
        return pd.to_numeric(frame[self.column], errors="coerce").clip(lower=self.least)


METRICS: Final[Mapping[str, Metric]] = {
    metric.name: metric
    for metric in (
        Metric("time", "Time", "cpu_s", 1e-6, "CPU s", "CPU time"),
        Metric("wall", "Wall time", "wall_s", 1e-6, "s", "wall time"),
        Metric("nodes", "Nodes", "nodes", 1.0, "", "nodes"),
        Metric("fair_nodes", "Fair nodes", "fair_nodes", 1.0, "", "fair nodes"),
        Metric("lp_iterations", "LP iterations", "lp_iterations", 1.0, "", "LP iterations"),
        Metric("gap", "Gap", "gap", 1e-4, "", "final gap"),
        Metric("primal_dual_integral", "PDI", "bound_integral", 1e-6, "", "primal-dual integral"),
        Metric(
            "scip_integral",
            "SCIP's PDI",
            "primal_dual_integral",
            1e-6,
            "% s",
            "primal-dual integral of SCIP",
        ),
    )
}
"""All metrics by name; every `Cost` is one of them."""


def solve_frame(rows: Sequence[Mapping[str, Any]], time_limit_s: float = 0.0) -> pd.DataFrame:
    """Return solves as a frame, one row each, with `solved` added.

    Parameters
    ----------
    rows : sequence of mapping
        The rows of an `EvaluationSummary`.
    time_limit_s : float
        What a solve without a proof costs at least: one that ran out of memory early was not fast.
    """
    frame = pd.DataFrame([dict(row) for row in rows])
    frame["solved"] = frame["status"].isin(PROVEN)
    for clock in ("cpu_s", "wall_s"):
        frame[clock] = frame[clock].where(frame["solved"], frame[clock].clip(lower=time_limit_s))
    return frame


def method_table(frame: pd.DataFrame, cost: Cost = "time") -> pd.DataFrame:
    """Return what each method did on each setting, in the order they first appear.

    Parameters
    ----------
    frame : pd.DataFrame
        From `solve_frame`.
    cost : str
        Metric that decides who wins an instance.

    Returns
    -------
    pd.DataFrame
        Indexed by setting and method. Columns: `solves`, `solved`, `unsolved`, `wins` (instances on which no
        other method has a smaller geometric mean over seeds), `inference_share` (of all CPU time), and for each
        metric `<name>` (geometric mean), `<name>_spread` (geometric standard deviation, a factor) and
        `<name>_shifted` (geometric mean shifted by 1), NaN where a metric is unknown.
    """
    wins = instance_wins(frame, cost)
    entries: list[dict[str, Any]] = []
    for (setting, method), solves in frame.groupby(["setting", "method"], sort=False):
        entry: dict[str, Any] = {
            "setting": setting,
            "method": method,
            "solves": len(solves),
            "solved": int(solves["solved"].sum()),
            "unsolved": int((~solves["solved"]).sum()),
            "wins": int(wins.get((setting, method), 0)),
            "inference_share": inference_share(solves),
        }
        for metric in METRICS.values():
            values = metric.of(solves).dropna()
            if len(values):
                entry[metric.name] = geometric_mean(values)
                entry[f"{metric.name}_spread"] = geometric_std(values)
                entry[f"{metric.name}_shifted"] = shifted_geometric_mean(values)
        entries.append(entry)
    return pd.DataFrame(entries).set_index(["setting", "method"])


def instance_wins(frame: pd.DataFrame, cost: Cost = "time") -> pd.Series[int]:
    """Return on how many instances each method is the cheapest, seeds collapsed; equals share the win.

    Returns
    -------
    pd.Series
        Indexed by setting and method; methods without a win are absent. Instances that some method of the
        setting has no solve of count for nobody.
    """
    valued = frame.assign(cost=METRICS[cost].of(frame)).dropna(subset=["cost"])
    means = valued.groupby(["setting", "digest", "method"], sort=False)["cost"].agg(geometric_mean)
    costs = means.unstack("method").dropna()
    if costs.empty:
        return pd.Series(dtype=int)
    cheapest = costs.le(costs.min(axis="columns"), axis="index")
    counted = pd.Series(cheapest.groupby(level="setting").sum().stack(), dtype=int)
    return counted.loc[counted > 0]


def inference_share(solves: pd.DataFrame) -> float:
    """Return the share of the CPU time of some solves that went into branching, between 0 and 1; NaN if unknown."""
    known = solves.dropna(subset=["branching_s"])
    total = float(known["cpu_s"].sum())
    return float(known["branching_s"].sum()) / total if total > 0 else float("nan")
