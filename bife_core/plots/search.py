"""Figures of a search: its progress, fidelities, ancestors, complexity, design time and quality over time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import scipy
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from bife_core.plots.style import (
    BLUE,
    CARD,
    GREY,
    GRID,
    MARKERS,
    ORANGE,
    SERIES,
    WARM,
    YELLOW,
    new_figure,
    number,
    tidy,
)
from bife_core.rules import Complexity
from bife_core.search.cost import PARTS, SearchCost
from bife_core.search.types import GenerationSummary, Sample
from bife_core.wording import counted


def progress(summaries: Sequence[GenerationSummary]) -> Figure:
    """Draw an evolution over its generations: F_LF and tau above, best F_HF below.

    Parameters
    ----------
    summaries : sequence of GenerationSummary
        One per generation (`BifeSearch.summaries`); values not yet known leave gaps.
    """
    figure = new_figure(7.0, 5.5)
    low, high = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    generations = [summary.generation for summary in summaries]
    _line(low, generations, [s.best_f_lf for s in summaries], BLUE, "o", "best")
    _line(low, generations, [s.mean_f_lf for s in summaries], YELLOW, "s", "mean of rules alive")
    tau = [number(s.tau) for s in summaries]
    low.step(generations, tau, where="post", color=GREY, linestyle="--", linewidth=1.3, label="threshold tau")
    low.set_ylabel("F_LF")
    _line(high, generations, [s.best_f_hf for s in summaries], ORANGE, "D", "best")
    high.set_ylabel("F_HF (minus mean cost)")
    high.set_xlabel("generation")
    high.xaxis.set_major_locator(MaxNLocator(integer=True))
    low.set_title("Progress of the evolution")
    for axes in (low, high):
        tidy(axes)
        axes.legend(frameon=False, fontsize=9)
    return figure


def _line(
    axes: Axes, x: Sequence[int], y: Sequence[float | None], color: str, marker: str, label: str
) -> None:
    axes.plot(x, [number(v) for v in y], color=color, marker=marker, markersize=4, linewidth=1.6, label=label)


def fidelity_scatter(samples: Sequence[Sample]) -> Figure:
    """Draw F_HF over F_LF for all rules that have both; the rules best in either are named.

    The drop from the best rule to the one best by F_LF is what a search on F_LF alone would have lost (paper,
    section "Limitations of relying solely on F_LF").

    Parameters
    ----------
    samples : sequence of Sample
        Those without both fidelities are left out.
    """
    both = [c for c in samples if c.failure is None and c.f_lf is not None and c.f_hf is not None]
    figure = new_figure(6.0, 4.5)
    axes = figure.subplots()
    x = [number(c.f_lf) for c in both]
    y = [number(c.f_hf) for c in both]
    axes.scatter(x, y, s=34, color=BLUE, alpha=0.75, edgecolor="white", linewidth=0.6, label="rule")
    if both:
        top_low, top_high = int(np.argmax(x)), int(np.argmax(y))
        named = (
            ((top_low, YELLOW, "s", "best F_LF"), (top_high, ORANGE, "D", "best F_HF"))
            if top_low != top_high
            else ((top_high, ORANGE, "D", "best in both"),)
        )
        for k, color, marker, label in named:
            axes.scatter(
                x[k], y[k], s=80, color=color, marker=marker, label=f"{label}: {both[k].id}", zorder=3
            )
        _mark_drop(axes, (x[top_low], y[top_low]), (x[top_high], y[top_high]))
    axes.set_xlabel("F_LF")
    axes.set_ylabel("F_HF (minus mean cost)")
    correlation = rank_correlation(both)
    rank = "" if correlation is None else f", rank correlation {correlation:.2f}"
    axes.set_title(f"Low against high fidelity, {counted(len(both), 'rule')}{rank}")
    tidy(axes)
    axes.legend(frameon=False, fontsize=9)
    return figure


def rank_correlation(samples: Sequence[Sample]) -> float | None:
    """Return Spearman's correlation of F_LF and F_HF over the rules that have both; None where it is undefined."""
    both = [(c.f_lf, c.f_hf) for c in samples if c.f_lf is not None and c.f_hf is not None]
    if len({low for low, _ in both}) < 2 or len({high for _, high in both}) < 2:
        return None
    return float(scipy.stats.spearmanr(*zip(*both, strict=True)).statistic)


def fidelity_drop(samples: Sequence[Sample]) -> float | None:
    """Return by how much the cost of the rule best by F_LF exceeds that of the best rule, as a share of the latter.

    Among rules of equal F_LF the first counts. None where no rule has both fidelities, or costs are not positive.
    """
    both = [(c.f_lf, c.f_hf) for c in samples if c.f_lf is not None and c.f_hf is not None]
    if not both:
        return None
    chosen = max(both, key=lambda pair: pair[0])[1]
    best = max(high for _, high in both)
    return None if best >= 0 else chosen / best - 1


def _mark_drop(axes: Axes, low: tuple[float, float], high: tuple[float, float]) -> None:
    if low[1] >= high[1]:
        return
    axes.plot([low[0], low[0]], [low[1], high[1]], color=GREY, linewidth=1.2, linestyle=":")
    axes.annotate(
        f"drop {(low[1] / high[1] - 1):.0%}" if high[1] < 0 else "drop",
        (low[0], (low[1] + high[1]) / 2),
        xytext=(6, 0),
        textcoords="offset points",
        fontsize=9,
        va="center",
    )


def lineage(samples: Sequence[Sample], rule: str) -> Figure:
    """Draw the ancestors of one rule, oldest generation on top.

    Parameters
    ----------
    samples : sequence of Sample
        All samples of the search; parents missing here are drawn nowhere.
    rule : str
        Id of the rule, usually the best.

    Raises
    ------
    ValueError
        If no sample has that id.
    """
    known = {sample.id: sample for sample in samples}
    if rule not in known:
        raise ValueError(f"There is no sample {rule!r} among the {len(known)} given.")
    family = _ancestry(known, rule)
    layers: dict[tuple[int, int], list[str]] = defaultdict(list)
    steps: dict[str, int] = {}
    for name in family:
        layers[known[name].generation, _step(known, name, steps)].append(name)
    depth = {layer: row for row, layer in enumerate(sorted(layers))}
    width = max(len(names) for names in layers.values())
    place = {
        name: ((k + 0.5) / len(names) * width, -float(depth[layer]))
        for layer, names in layers.items()
        for k, name in enumerate(names)
    }
    figure = new_figure(max(4.5, 1.7 * width + 1.2), max(2.2, 1.1 * len(layers) + 0.8))
    axes = figure.subplots()
    for name in family:
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
    for name in family:
        _box(axes, known[name], place[name], chosen=name == rule)
    axes.set_xlim(0, width)
    axes.set_ylim(-len(layers) + 0.4, 0.6)
    axes.set_yticks(
        [-float(row) for row in depth.values()],
        [f"generation {generation}" if step == 0 else "" for generation, step in depth],
    )
    axes.set_xticks([])
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    figure.suptitle(f"Lineage of {rule}", fontsize="large")
    return figure


def _ancestry(known: dict[str, Sample], rule: str) -> list[str]:
    family: dict[str, None] = {}
    waiting = [rule]
    while waiting:
        name = waiting.pop(0)
        if name in known and name not in family:
            family[name] = None
            waiting.extend(known[name].parents)
    return [name for name in known if name in family]


def _step(known: dict[str, Sample], name: str, steps: dict[str, int]) -> int:
    """Return how many ancestors in a row a sample has in its own generation, as mutants of fresh crossovers do."""
    if name not in steps:
        own = [p for p in known[name].parents if p in known and known[p].generation == known[name].generation]
        steps[name] = 1 + max(_step(known, parent, steps) for parent in own) if own else 0
    return steps[name]


def _box(axes: Axes, sample: Sample, place: tuple[float, float], *, chosen: bool) -> None:
    lines = [f"{sample.id} · {sample.operator}"]
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


def complexity_radar(rules: Mapping[str, Complexity]) -> Figure:
    """Draw rules on five axes, each scaled to the greatest value among them.

    Raises
    ------
    ValueError
        If there is no rule.
    """
    if not rules:
        raise ValueError("A radar of rule complexity needs at least one rule.")
    measured = {name: measures.to_dict() for name, measures in rules.items()}
    axes_names = list(next(iter(measured.values())))
    greatest = {name: max(values[name] for values in measured.values()) for name in axes_names}
    angles = np.linspace(0, 2 * np.pi, len(axes_names), endpoint=False)
    figure = new_figure(6.0, 4.6)
    axes = figure.add_subplot(projection="polar")
    for place, (name, values) in enumerate(measured.items()):
        shares = [values[key] / max(greatest[key], 1) for key in axes_names]
        closed = [*shares, shares[0]]
        color = SERIES[place % len(SERIES)]
        axes.plot([*angles, angles[0]], closed, color=color, linewidth=1.8, label=name)
        axes.fill([*angles, angles[0]], closed, color=color, alpha=0.12)
    labels = [f"{name.replace('_', ' ')}\n(up to {greatest[name]})" for name in axes_names]
    axes.set_xticks(angles, labels, fontsize=9)
    axes.tick_params(axis="x", pad=16)
    axes.set_ylim(0, 1.05)
    axes.set_yticks([0.25, 0.5, 0.75, 1.0], [])
    axes.grid(color=GRID)
    axes.spines["polar"].set_color(GRID)
    axes.set_title("Complexity of the rules")
    axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1.08, 1.0))
    return figure


LABELS = {"f_lf": "F_LF", "f_hf": "F_HF"}
"""Parts of the design time that are spelled otherwise in a figure."""


def design_time(costs: Sequence[SearchCost]) -> Figure:
    """Draw the rule-design time of each search by what it went on."""
    figure = new_figure(6.5, 0.55 * len(costs) + 1.6)
    axes = figure.subplots()
    rows = np.arange(len(costs))
    left = np.zeros(len(costs))
    for place, part in enumerate(PARTS):
        seconds = np.array([cost.parts[part] for cost in costs])
        if seconds.any():
            axes.barh(
                rows, seconds, left=left, height=0.62, color=SERIES[place], label=LABELS.get(part, part)
            )
        left += seconds
    for row, total in enumerate(left):
        axes.annotate(
            f"{total:.3g} s", (total, row), xytext=(5, 0), textcoords="offset points", va="center", fontsize=9
        )
    axes.set_yticks(rows, [cost.search for cost in costs])
    axes.invert_yaxis()
    axes.margins(x=0.15)
    axes.set_xlabel("seconds of work")
    axes.set_title("Rule-design time")
    tidy(axes, grid="x")
    figure.legend(frameon=False, fontsize=9, loc="outside lower center", ncols=len(PARTS))
    return figure


def anytime_curves(costs: Sequence[SearchCost]) -> Figure:
    """Draw the best F_HF of each search against the CPU seconds spent in the solver by then."""
    figure = new_figure(6.5, 4.0)
    axes = figure.subplots()
    for place, cost in enumerate(costs):
        if not cost.curve:
            continue
        seconds = [point.solver_s for point in cost.curve]
        best = [point.f_hf for point in cost.curve]
        axes.step(
            [*seconds, max(cost.solver_s, seconds[-1])],
            [*best, best[-1]],
            where="post",
            color=SERIES[place % len(SERIES)],
            marker=MARKERS[place % len(MARKERS)],
            markersize=4,
            label=cost.search,
        )
    axes.set_xlabel("CPU seconds in the solver")
    axes.set_ylabel("best F_HF (minus mean cost)")
    axes.set_title("Quality against solver time")
    tidy(axes)
    if sum(bool(cost.curve) for cost in costs) > 1:
        axes.legend(frameon=False, fontsize=9)
    return figure
