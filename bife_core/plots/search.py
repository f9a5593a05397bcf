"""Figures of a search: its progress, fidelities, ancestors, and quality over solver time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import scipy
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from bife_core.plots.style import (
    BLUE,
    CARD,
    GREY,
    MARKERS,
    ORANGE,
    SERIES,
    WARM,
    YELLOW,
    label as shown,
    new_figure,
    tidy,
)
from bife_core.search.cost import SearchCost
from bife_core.search.types import GenerationSummary, Sample
from bife_core.wording import counted


def progress(summaries: Sequence[GenerationSummary]) -> Figure:
    """Draw a search over its generations: F_LF and tau above, best F_HF below; unknown values leave gaps."""
    figure = new_figure(7.0, 5.5)
    low, high = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    generations = [summary.generation for summary in summaries]
    for axes, name, color, marker, label in (
        (low, "best_f_lf", BLUE, "o", "best"),
        (low, "mean_f_lf", YELLOW, "s", "mean of rules alive"),
        (high, "best_f_hf", ORANGE, "D", "best"),
    ):
        values = np.array([getattr(summary, name) for summary in summaries], dtype=float)  # NaN for None
        axes.plot(generations, values, color=color, marker=marker, markersize=4, linewidth=1.6, label=label)
    tau = np.array([summary.tau for summary in summaries], dtype=float)
    low.step(generations, tau, where="post", color=GREY, linestyle="--", linewidth=1.3, label="threshold tau")
    low.set_ylabel("F_LF")
    high.set_ylabel("F_HF (minus mean cost)")
    high.set_xlabel("generation")
    high.xaxis.set_major_locator(MaxNLocator(integer=True))
    low.set_title("Progress of the search")
    for axes in (low, high):
        tidy(axes)
        axes.legend(frameon=False, fontsize=9)
    return figure


def fidelity_scatter(samples: Sequence[Sample]) -> Figure:
    """Draw F_HF over F_LF for all rules that have both; the rules best in either are named.

    The drop from the best rule to the one best by F_LF is what a search on F_LF alone would have lost (paper,
    section "Limitations of relying solely on F_LF").
    """
    both = [c for c in samples if c.failure is None and c.f_lf is not None and c.f_hf is not None]
    figure = new_figure(6.0, 4.5)
    axes = figure.subplots()
    x, y = (np.array([getattr(c, name) for c in both], dtype=float) for name in ("f_lf", "f_hf"))
    axes.scatter(x, y, s=34, color=BLUE, alpha=0.75, edgecolor="white", linewidth=0.6, label="rule")
    if both:
        top_low, top_high = int(np.argmax(x)), int(np.argmax(y))
        named = [(top_low, YELLOW, "s", "best F_LF"), (top_high, ORANGE, "D", "best F_HF")]
        for k, color, marker, label in named if top_low != top_high else named[1:]:
            name = f"{label if top_low != top_high else 'best in both'}: {both[k].id}"
            axes.scatter(x[k], y[k], s=80, color=color, marker=marker, label=name, zorder=3)
        if y[top_low] < y[top_high]:
            axes.vlines(x[top_low], y[top_low], y[top_high], colors=GREY, linewidth=1.2, linestyles=":")
            text = f"drop {y[top_low] / y[top_high] - 1:.0%}" if y[top_high] < 0 else "drop"
            middle = (y[top_low] + y[top_high]) / 2
            axes.annotate(
                text, (x[top_low], middle), xytext=(6, 0), textcoords="offset points", fontsize=9, va="center"
            )
    axes.set_xlabel("F_LF")
    axes.set_ylabel("F_HF (minus mean cost)")
    rank = ""
    if len(set(x)) > 1 and len(set(y)) > 1:
        rank = f", rank correlation {float(scipy.stats.spearmanr(x, y).statistic):.2f}"
    axes.set_title(f"Low against high fidelity, {counted(len(both), 'rule')}{rank}")
    tidy(axes)
    axes.legend(frameon=False, fontsize=9)
    return figure


def lineage(samples: Sequence[Sample], rule: str) -> Figure:
    """Draw the ancestors among samples, in order, of one rule, named by its id, the oldest generation on top.

    A ValueError says that no sample has that id.
    """
    known = {sample.id: sample for sample in samples}
    if rule not in known:
        raise ValueError(f"There is no sample {rule!r} among the {len(known)} given.")
    family, waiting = set[str](), [rule]
    while waiting:
        name = waiting.pop()
        if name in known and name not in family:
            family.add(name)
            waiting += known[name].parents
    layers: dict[tuple[int, int], list[str]] = defaultdict(list)
    # Ancestors in a row of its own generation, as mutants of fresh crossovers have.
    steps: dict[str, int] = {}
    for name, sample in known.items():
        peers = {one for one in sample.parents if one in steps and known[one].generation == sample.generation}
        steps[name] = 1 + max(map(steps.__getitem__, peers), default=-1)
        if name in family:
            layers[sample.generation, steps[name]].append(name)
    depth = {layer: row for row, layer in enumerate(sorted(layers))}
    width = max(len(names) for names in layers.values())
    place = {
        name: ((k + 0.5) / len(names) * width, -float(depth[layer]))
        for layer, names in layers.items()
        for k, name in enumerate(names)
    }
    figure = new_figure(max(4.5, 1.7 * width + 1.2), max(2.2, 1.1 * len(layers) + 0.8))
    axes = figure.subplots()
    for name in place:
        for parent in dict.fromkeys(known[name].parents):
            if parent in place:
                # An arrow that passes a row goes round the box that may stand there.
                rows = place[parent][1] - place[name][1]
                arrow = {
                    "arrowstyle": "-|>",
                    "color": GREY,
                    "shrinkA": 20,
                    "shrinkB": 24,
                    "linewidth": 1.1,
                    "connectionstyle": f"arc3,rad={1.5 / rows if rows > 1.5 else 0.0}",
                }
                axes.annotate("", xy=place[name], xytext=place[parent], arrowprops=arrow)
        _box(axes, known[name], place[name], chosen=name == rule)
    axes.set_xlim(0, width)
    axes.set_ylim(-len(layers) + 0.4, 0.6)
    labels = [f"generation {generation}" if step == 0 else "" for generation, step in depth]
    axes.set_yticks([-float(row) for row in depth.values()], labels)
    axes.set_xticks([])
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    figure.suptitle(f"Lineage of {rule}", fontsize="large")
    return figure


def _box(axes: Axes, sample: Sample, place: tuple[float, float], *, chosen: bool) -> None:
    lines = [shown(f"{sample.id} · {sample.operator}")]
    if sample.f_lf is not None:
        lines.append(f"F_LF {sample.f_lf:.3f}")
    if sample.f_hf is not None:
        lines.append(f"F_HF {sample.f_hf:.4g}")
    box = {
        "boxstyle": "round,pad=0.4",
        "facecolor": WARM if chosen else CARD,
        "edgecolor": ORANGE if chosen else BLUE if sample.f_hf is not None else GREY,
        "linewidth": 1.8 if chosen else 1.1,
    }
    axes.text(*place, "\n".join(lines), ha="center", va="center", fontsize=8, bbox=box, zorder=3)


def anytime_curves(costs: Sequence[SearchCost]) -> Figure:
    """Draw the best F_HF of each search against the CPU seconds spent in the solver by then."""
    figure = new_figure(6.5, 4.0)
    axes = figure.subplots()
    drawn = [cost for cost in costs if cost.curve]
    for place, cost in enumerate(drawn):
        seconds = [point.solver_s for point in cost.curve]
        best = [point.f_hf for point in cost.curve]
        axes.step(
            [*seconds, max(cost.solver_s, seconds[-1])],
            [*best, best[-1]],
            where="post",
            color=SERIES[place % len(SERIES)],
            marker=MARKERS[place % len(MARKERS)],
            markersize=4,
            label=shown(cost.search),
        )
    axes.set_xlabel("CPU seconds in the solver")
    axes.set_ylabel("best F_HF (minus mean cost)")
    axes.set_title("Quality against solver time")
    tidy(axes)
    if len(drawn) > 1:
        axes.legend(frameon=False, fontsize=9)
    return figure
