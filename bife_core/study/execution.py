"""Why a rule is fast or slow, in a table for the model that is to improve it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

import numpy as np

from bife_core.fidelity.config import HighFidelityConfig
from bife_core.fidelity.high import HighScore
from bife_core.fidelity.solving import Reference, cost_of
from bife_core.scip.solving import SolveResult

_ROWS: Final = 4
"""Instances shown at either end of the order, where there are more than twice as many."""
_NODES: Final = 10
"""Nodes from which on the time per node is shown."""


def execution(
    score: HighScore, reference: Reference, best: HighScore | None, config: HighFidelityConfig
) -> str:
    """Return nodes, time per node and cost on each design instance, also over RPB's and those of `best`, another rule.

    Seconds are corrected for the load of the machine as costs are. Nothing is returned for a rule without costs.
    """
    places = [place for place, cost in enumerate(score.costs) if cost is not None]
    pairs = [(place, own, reference.results[place]) for place, own in zip(places, score.results, strict=True)]
    rows, cut_off, done = [], set(), []
    for place, own, rpb in pairs:
        cost = score.costs[place]
        if rpb is None or cost is None:
            continue
        done.append(own)
        if not own.finished:
            cut_off.add(place + 1)
        # A solve that ran into the limit costs the limit, and its seconds are as the clock showed them.
        correction = cost / own.cpu_s if config.cost == "time" and own.finished else 1.0
        node_ms, rival = correction * _node_ms(own, _NODES), best and best.costs[place]
        ratios = own.nodes / max(rpb.nodes, 1), node_ms / _node_ms(rpb), cost / cost_of(rpb, config)
        rows.append((place + 1, own.nodes, node_ms, cost, *ratios, cost / rival if rival else math.nan))
    if not rows:
        return ""
    table = np.array(sorted(rows, key=lambda row: -row[6]))
    if np.isnan(table[:, -1]).all():  # there is no other rule
        table = table[:, :-1]
    shown = table if len(table) <= 2 * _ROWS else np.vstack((table[:_ROWS], table[-_ROWS:]))
    unit = "CPU s" if config.cost == "time" else config.cost.replace("_", " ")
    geometric = [
        math.nan if np.isnan(column).all() else float(np.exp(np.nanmean(np.log(column))))
        for column in table[:, 4:].T
    ]
    lines = [
        f"instance | nodes | x RPB | ms/node | x RPB | {unit} | x RPB{' | x best' * (len(geometric) > 3)}",
        *(_line(f"{row[0]:.0f}", row[1:4], row[4:], row[0] in cut_off) for row in shown),
        _line(f"mean of {len(table)}", [math.nan] * 3, geometric),
    ]
    total_s = math.fsum(own.cpu_s for own in done)
    root, features, rule = (
        math.fsum(getattr(own, part) or 0.0 for own in done) / total_s
        for part in ("root_s", "feature_s", "rule_s")
    )
    spent = (
        f"Of its CPU time the root took {root:.0%}, features {features:.2%} and the rule's code {rule:.2%}."
    )
    return "\n".join((*lines, "", spent))


def _node_ms(result: SolveResult, least: int = 2) -> float:
    """Return the milliseconds a node took, the root left out: its work is the same under every rule.

    A solve of less than `least` nodes says nothing of it.
    """
    if result.nodes < least:
        return math.nan
    return 1e3 * max(result.cpu_s - (result.root_s or 0.0), 1e-6) / (result.nodes - 1)


def _line(name: str, numbers: Iterable[float], ratios: Iterable[float], cut_off: bool = False) -> str:
    cells = ["" if math.isnan(number) else f"{number:.3g}" for number in numbers]
    over = ["-" if math.isnan(ratio) else f"{ratio:.2f}" for ratio in ratios]
    cells[2] += " (limit)" * cut_off
    return " | ".join((name, *(part for pair in zip(cells, over, strict=False) for part in pair), *over[3:]))
