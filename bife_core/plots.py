"""Figures of a search and of an evaluation.

All functions return a `matplotlib.figure.Figure` of its own: nothing is shown, saved or kept in global state.
Colours are those of Okabe and Ito, told apart with any colour vision; each series has its own marker or line.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from bife_core.search.cost import CostPoint
from bife_core.search.summary import GenerationSummary
from bife_core.search.types import Candidate
from bife_core.stats import Costs, collapse_seeds, geometric_mean, log_ratios

BLUE: Final = "#0072B2"
ORANGE: Final = "#D55E00"
GREEN: Final = "#009E73"
YELLOW: Final = "#E69F00"
GREY: Final = "#6E6E6E"

_NAMED_INSTANCES: Final = 60
"""Above this many instances their names would overlap."""


def progress(summaries: Sequence[GenerationSummary]) -> Figure:
    """Draw an evolution over its generations: F_LF and tau above, best F_HF below.

    Parameters
    ----------
    summaries : sequence of GenerationSummary
        One per generation (`BifeSearch.summaries`); values not yet known leave gaps.
    """
    figure = _figure(7.0, 5.5)
    low, high = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    generations = [summary.generation for summary in summaries]
    _line(low, generations, [s.best_f_lf for s in summaries], BLUE, "o", "best")
    _line(low, generations, [s.mean_f_lf for s in summaries], YELLOW, "s", "mean of rules alive")
    tau = [_number(s.tau) for s in summaries]
    low.step(generations, tau, where="post", color=GREY, linestyle="--", linewidth=1.3, label="threshold tau")
    low.set_ylabel("F_LF (agreement)")
    _line(high, generations, [s.best_f_hf for s in summaries], ORANGE, "D", "best")
    high.set_ylabel("F_HF (minus mean cost)")
    high.set_xlabel("generation")
    high.xaxis.set_major_locator(MaxNLocator(integer=True))
    low.set_title("Progress of the evolution")
    for axes in (low, high):
        _tidy(axes)
        axes.legend(frameon=False, fontsize=9)
    return figure


def anytime(curve: Sequence[CostPoint]) -> Figure:
    """Draw the best F_HF so far over what had been spent in the solver to find it.

    Parameters
    ----------
    curve : sequence of CostPoint
        One per rule better than all before, in order (`SearchCost.curve`).
    """
    figure = _figure(7.0, 3.8)
    axes = figure.subplots()
    seconds, best = [point.solver_s for point in curve], [point.f_hf for point in curve]
    axes.step(seconds, best, where="post", color=ORANGE, linewidth=1.8, marker="D", markersize=4)
    axes.set_xlabel("CPU seconds in the solver")
    axes.set_ylabel("best F_HF (minus mean cost)")
    axes.set_title("Anytime curve")
    _tidy(axes)
    return figure


def fidelity_scatter(candidates: Sequence[Candidate], tau: float | None = None) -> Figure:
    """Draw F_HF over F_LF for all rules that have both; the rules best in either are named.

    The farther the two named rules lie apart in F_HF, the less F_LF alone would have found (paper, section
    "Limitations of relying solely on F_LF").

    Parameters
    ----------
    candidates : sequence of Candidate
        Those without both fidelities are left out.
    tau : float or None
        Threshold to mark.
    """
    both = [c for c in candidates if c.failure is None and c.f_lf is not None and c.f_hf is not None]
    figure = _figure(6.0, 4.5)
    axes = figure.subplots()
    x = [_number(c.f_lf) for c in both]
    y = [_number(c.f_hf) for c in both]
    axes.scatter(x, y, s=34, color=BLUE, alpha=0.75, edgecolor="white", linewidth=0.6, label="rule")
    if both:
        top_low, top_high = int(np.argmax(x)), int(np.argmax(y))
        named = ((top_low, YELLOW, "s", "best F_LF"), (top_high, ORANGE, "D", "best F_HF"))
        for k, color, marker, label in named:
            axes.scatter(
                x[k], y[k], s=80, color=color, marker=marker, label=f"{label}: {both[k].id}", zorder=3
            )
    if tau is not None:
        axes.axvline(tau, color=GREY, linestyle="--", linewidth=1.2, label="threshold tau")
    axes.set_xlabel("F_LF (agreement)")
    axes.set_ylabel("F_HF (minus mean cost)")
    axes.set_title(f"Low against high fidelity, {_counted(len(both), 'rule')}")
    _tidy(axes)
    axes.legend(frameon=False, fontsize=9)
    return figure


def lineage(candidates: Sequence[Candidate], rule: str) -> Figure:
    """Draw the ancestors of one rule, oldest generation on top.

    Parameters
    ----------
    candidates : sequence of Candidate
        All candidates of the search; parents missing here are drawn nowhere.
    rule : str
        Id of the rule, usually the best.

    Raises
    ------
    ValueError
        If no candidate has that id.
    """
    known = {candidate.id: candidate for candidate in candidates}
    if rule not in known:
        raise ValueError(f"There is no candidate {rule!r} among the {len(known)} given.")
    family = _ancestry(known, rule)
    layers: dict[int, list[str]] = defaultdict(list)
    for name in family:
        layers[known[name].generation].append(name)
    depth = {generation: row for row, generation in enumerate(sorted(layers))}
    width = max(len(names) for names in layers.values())
    place = {
        name: ((k + 0.5) / len(names) * width, -float(depth[generation]))
        for generation, names in layers.items()
        for k, name in enumerate(names)
    }
    figure = _figure(max(4.5, 1.7 * width + 1.2), max(2.2, 1.1 * len(layers) + 0.8))
    axes = figure.subplots()
    for name in family:
        for parent in dict.fromkeys(known[name].parents):
            if parent in place:
                arrow = {"arrowstyle": "-|>", "color": GREY, "shrinkA": 17, "shrinkB": 17, "linewidth": 1.1}
                axes.annotate("", xy=place[name], xytext=place[parent], arrowprops=arrow)
    for name in family:
        _box(axes, known[name], place[name], chosen=name == rule)
    axes.set_xlim(0, width)
    axes.set_ylim(-len(layers) + 0.4, 0.6)
    axes.set_yticks([-float(row) for row in depth.values()], [f"generation {g}" for g in depth])
    axes.set_xticks([])
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    axes.set_title(f"Lineage of {rule}")
    return figure


def instance_costs(
    rule: Costs,
    baseline: Costs,
    names: Sequence[str] | None = None,
    *,
    rule_label: str = "rule",
    baseline_label: str = "RPB",
    unit: str = "CPU seconds",
) -> Figure:
    """Draw what each instance cost with the rule and with the baseline, on a logarithmic scale.

    Instances are ordered by their ratio, the greatest saving on top. Seeds are collapsed by geometric mean.

    Parameters
    ----------
    rule, baseline : Costs
        Positive costs of the same instances, as in `bife_core.stats`.
    names : sequence of str or None
        Names of the instances when costs are arrays; a mapping brings its own.

    Raises
    ------
    ValueError
        If the costs do not pair up or are not positive, or the names are too many or too few.
    """
    logs = log_ratios(rule, baseline)
    ours, theirs = collapse_seeds(rule), collapse_seeds(baseline)
    labels = list(names) if names is not None else _names(rule, len(ours))
    if len(labels) != len(ours):
        raise ValueError(f"Expected {len(ours)} instance names, found {len(labels)}.")
    order = np.argsort(-logs, kind="stable")
    rows = np.arange(len(order))
    few = len(order) <= _NAMED_INSTANCES
    figure = _figure(7.0, max(2.4, 0.24 * len(order) + 1.2) if few else 7.0)
    axes = figure.subplots()
    cheaper = logs[order] < 0
    axes.hlines(
        rows, ours[order], theirs[order], colors=np.where(cheaper, GREEN, GREY).tolist(), linewidth=1.6
    )
    size = 30 if few else 9
    axes.scatter(theirs[order], rows, s=size, color=ORANGE, marker="s", label=baseline_label, zorder=3)
    axes.scatter(ours[order], rows, s=size, color=BLUE, marker="o", label=rule_label, zorder=3)
    axes.set_xscale("log")
    axes.set_xlabel(unit)
    if few:
        axes.set_yticks(rows, [labels[k] for k in order], fontsize=8)
    else:
        axes.set_yticks([])
        axes.set_ylabel(f"{len(order)} instances")
    axes.set_title(f"{rule_label} / {baseline_label} = {geometric_mean(np.exp(logs)):.2f} (geometric mean)")
    _tidy(axes)
    axes.legend(frameon=False, fontsize=9, loc="best")
    return figure


def _figure(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _tidy(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(visible=True, color="#E5E5E5", linewidth=0.8)
    axes.set_axisbelow(True)


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _line(
    axes: Axes, x: Sequence[int], y: Sequence[float | None], color: str, marker: str, label: str
) -> None:
    axes.plot(
        x, [_number(v) for v in y], color=color, marker=marker, markersize=4, linewidth=1.6, label=label
    )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _names(costs: Costs, count: int) -> list[str]:
    return sorted(costs) if isinstance(costs, Mapping) else [str(k) for k in range(count)]


def _ancestry(known: dict[str, Candidate], rule: str) -> list[str]:
    family: dict[str, None] = {}
    waiting = [rule]
    while waiting:
        name = waiting.pop(0)
        if name in known and name not in family:
            family[name] = None
            waiting.extend(known[name].parents)
    return [name for name in known if name in family]


def _box(axes: Axes, candidate: Candidate, place: tuple[float, float], *, chosen: bool) -> None:
    lines = [f"{candidate.id} · {candidate.operator}"]
    if candidate.f_lf is not None:
        lines.append(f"F_LF {candidate.f_lf:.3f}")
    if candidate.f_hf is not None:
        lines.append(f"F_HF {candidate.f_hf:.4g}")
    box = {
        "boxstyle": "round,pad=0.4",
        "facecolor": "#FBE9DD" if chosen else "white",
        "edgecolor": ORANGE if chosen else BLUE if candidate.f_hf is not None else GREY,
        "linewidth": 1.8 if chosen else 1.1,
    }
    axes.text(*place, "\n".join(lines), ha="center", va="center", fontsize=8, bbox=box, zorder=3)
