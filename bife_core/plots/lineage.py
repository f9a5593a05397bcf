"""Where a rule came from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bife_core.plots.style import BLUE, CARD, GREY, ORANGE, WARM, new_figure
from bife_core.search.types import Sample


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
