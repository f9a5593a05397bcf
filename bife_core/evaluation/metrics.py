"""What is reported of a solve, and what of many solves: means, spreads, wins, solved counts, by pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

import pandas as pd

from bife_core.scip.cost import LARGEST_GAP, LEAST, Cost
from bife_core.scip.solving import DONE, SolveResult
from bife_core.stats import geometric_mean, geometric_std, shifted_geometric_mean
from bife_core.values import Value
from bife_core.wording import counted

_CHARGE_FACTOR: Final = 10.0
"""A solve without a count costs this often the most that any method took on the same instance and seed."""


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
    worst, worst_per_s : float
        What a missing solve costs at least: a number, and so much for each second of the time limit. Where both are 0
        there is no worst value, and it costs a multiple of what others took.
    clock : bool
        Whether it is seconds of the solve: then one that ended early without a proof costs the whole limit too.
    work : bool
        Whether it counts work rather than what a user waits for: half the nodes may take twice the time.
    """

    name: str
    label: str
    column: str
    least: float
    unit: str
    words: str
    worst: float = 0.0
    worst_per_s: float = 0.0
    clock: bool = False
    work: bool = False

    def of(self, frame: pd.DataFrame) -> pd.Series[float]:
        """Return the metric of every solve of a frame, at least `least`; unknown values are NaN."""
        return pd.to_numeric(frame[self.column], errors="coerce").clip(lower=self.least)

    def charged(self, frame: pd.DataFrame, time_limit_s: float) -> pd.Series[float]:
        """Return the column of a frame with what solves that are missing cost.

        Parameters
        ----------
        frame : pd.DataFrame
            With the columns `missing` and `solved`.
        """
        values = pd.to_numeric(frame[self.column], errors="coerce").mask(frame["missing"])
        floor = self.worst + self.worst_per_s * time_limit_s
        if self.clock:  # a solve that ran out of memory early was not fast
            values = values.where(frame["solved"], values.clip(lower=floor))
        of_one = [frame[column] for column in ("setting", "digest", "seed")]
        costliest = values.clip(lower=self.least).groupby(of_one).transform("max")
        charge = costliest.clip(lower=floor).fillna(floor) if floor else _CHARGE_FACTOR * costliest
        # What no method has a value of costs all the same.
        failed_by_all = frame["missing"].groupby(of_one).transform("any") & charge.isna()
        # A sound solve whose value is unknown costs the worst there is, and stays unknown where there is none.
        given = charge if floor else charge.where(frame["missing"])
        return values.fillna(given.mask(failed_by_all, 1.0))


METRICS: Final[Mapping[str, Metric]] = {
    metric.name: metric
    for metric in (
        Metric("time", "Time", "cpu_s", LEAST["time"], "CPU s", "CPU time", worst_per_s=1.0, clock=True),
        Metric("wall", "Wall time", "wall_s", 1e-6, "s", "wall time", worst_per_s=1.0, clock=True),
        Metric("nodes", "Nodes", "nodes", LEAST["nodes"], "", "nodes", work=True),
        Metric("fair_nodes", "Fair nodes", "fair_nodes", 1.0, "", "fair nodes", work=True),
        Metric(
            "lp_iterations",
            "LP iterations",
            "lp_iterations",
            LEAST["lp_iterations"],
            "",
            "LP iterations",
            work=True,
        ),
        Metric("gap", "Gap", "gap", LEAST["gap"], "", "final gap", worst=LARGEST_GAP),
        Metric(
            "primal_dual_integral",
            "PDI",
            "primal_dual_integral",
            LEAST["primal_dual_integral"],
            "",
            "primal-dual integral",
        ),
    )
}
"""All metrics by name; every `Cost` is one of them."""


def judged_by(metric: Cost) -> Cost:
    """Return what a rule is judged by before it may be champion, where an evaluation compares by `metric`.

    Examples
    --------
    >>> judged_by("primal_dual_integral"), judged_by("gap"), judged_by("nodes")
    ('primal_dual_integral', 'gap', 'time')
    """
    return "time" if METRICS[metric].work else metric


def solve_frame(rows: Sequence[Mapping[str, Any]], time_limit_s: float = 0.0) -> pd.DataFrame:
    """Return solves as a frame, one row each, in which every solve has its cost.

    Parameters
    ----------
    rows : sequence of mapping
        The rows of an `EvaluationSummary`. One with a `failure` is missing: the solve gave no result, or a wrong one.
    time_limit_s : float
        What a solve without a proof costs at least.

    Returns
    -------
    pd.DataFrame
        The rows, with `missing` and `solved` (whether it ended with a proof, or at the gap asked for) added, and with
        what a missing solve costs in the column of each metric.
    """
    frame = pd.DataFrame([dict(row) for row in rows])
    frame["missing"] = frame["failure"].notna() if "failure" in frame else False
    frame["solved"] = frame["status"].isin(DONE) & ~frame["missing"]
    for metric in METRICS.values():
        frame[metric.column] = metric.charged(frame, time_limit_s)
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
        Indexed by setting and method. Columns: `solves`, `solved`, `unsolved`, `missing`, `wins` (instances on which no
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
            "missing": int(solves["missing"].sum()),
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
        Indexed by setting and method; methods without a win are absent.
    """
    valued = frame.assign(cost=METRICS[cost].of(frame)).dropna(subset=["cost"])
    means = valued.groupby(["setting", "digest", "method"], sort=False)["cost"].agg(geometric_mean)
    counts: dict[tuple[Any, Any], int] = {}
    for setting, of_setting in means.groupby(level="setting", sort=False):
        costs = of_setting.unstack("method").dropna()
        cheapest = costs.le(costs.min(axis="columns"), axis="index").sum()
        counts |= {(setting, method): int(count) for method, count in cheapest.items() if count}
    return pd.Series(counts, dtype=int)


def inference_share(solves: pd.DataFrame) -> float:
    """Return the share of the CPU time of some solves that went into branching, between 0 and 1; NaN if unknown."""
    known = solves.dropna(subset=["branching_s"])
    total = float(known["cpu_s"].sum())
    return float(known["branching_s"].sum()) / total if total > 0 else float("nan")


LITTLE: Final = 0.05
"""Share of branching below which a rule will hardly help."""

_FEW_NODES: Final = 10


class Precheck(Value):
    """How much of its time RPB spends in branching.

    Attributes
    ----------
    asked, solved : int
        Instances RPB was to solve, and those it has a result on.
    share : float or None
        Part of RPB's CPU time on all of them that it spends in branching; None where that is not known.
    least, most : float or None
        The same for the single instance with the smallest and the largest share.
    nodes : float
        Median of RPB's nodes.
    """

    asked: int
    solved: int
    share: float | None = None
    least: float | None = None
    most: float | None = None
    nodes: float = 0.0

    @property
    def little(self) -> bool:
        """Whether so little is spent in branching that a rule will hardly help."""
        return self.share is not None and self.share < LITTLE

    @property
    def sentence(self) -> str:
        """What a rule can save, and what might help more where that is little."""
        instances = counted(self.asked, "instance")
        if self.share is None or self.least is None or self.most is None:
            return f"What a rule can save is not known: RPB has a result on {self.solved} of {instances}."
        spread = "" if self.solved == 1 else f", {_percent(self.least)} to {_percent(self.most)} per instance"
        judged = f"{self.solved} of " if self.solved < self.asked else ""
        on = f"{judged}{instances}{spread}"
        found = (
            f"RPB spends {_percent(self.share)} of its CPU time in branching ({on}): a rule "
            "that chooses as well can save that at most, and what it saves in nodes."
        )
        if not self.little:
            return found
        nodes = "1 node" if self.nodes == 1 else f"{self.nodes:,.0f} nodes"
        where = (
            f"most of the work is done before branching begins ({nodes} in the median)"
            if self.nodes <= _FEW_NODES
            else f"it would have to save many of RPB's {nodes} (median)"
        )
        return (
            f"{found} That is little, so a rule will hardly help: {where}. A tighter formulation, or other cuts, "
            "heuristics and LP settings, may do more."
        )


def precheck(results: Sequence[SolveResult | None]) -> Precheck:
    """Return RPB's branching-time share on some instances.

    Parameters
    ----------
    results : sequence of (SolveResult or None)
        One per instance; None where RPB has none.
    """
    known = [result for result in results if result is not None and result.branching_s is not None]
    if not known:
        return Precheck(asked=len(results), solved=0)
    frame = pd.DataFrame([{"branching_s": one.branching_s, "cpu_s": one.cpu_s} for one in known])
    shares = [inference_share(frame.iloc[[row]]) for row in range(len(frame))]
    return Precheck(
        asked=len(results),
        solved=len(known),
        share=inference_share(frame),
        least=min(shares),
        most=max(shares),
        nodes=median(one.nodes for one in known),
    )


def _percent(share: float) -> str:
    return f"{share:.1%}".replace("%", " %") if share < 0.1 else f"{share:.0%}".replace("%", " %")
