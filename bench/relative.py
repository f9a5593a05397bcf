"""What a rule would gain in F_LF if it saw every feature beside those of the node's other candidates.

A rule scores one candidate at a time. A vector rule, scores(X) -> n, would see all of a node's: this bounds what that
is worth. Decisions are those of `bench.extended`. For each seed half of the models are fitted to, and agreement is that
with the others': of the formula selected from the 72 features of Khalil et al., factor by factor, and of the one
selected from these, each over its largest value in the node, and its rank there. The best of 1 to `--grown`
factors by the information criterion counts. One JSON object a line: {family, decisions, models, seeds, khalil72,
relative, gain, gain_stderr, better, chosen, cpu_s}, `chosen` being the share of factors that read a relative value.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from bench import tell
from bench.formulas import extended_decisions, gained, halves, narrowed
from bench.options import parse
from bench.search_cost import home_of
from bife_core.decisions.recorded import Decisions
from bife_core.features import N_FEATURES
from bife_core.fidelity.measures import chosen_rows
from bife_core.generators.offline.expression import FLOOR, leaves
from bife_core.sandbox import WorkerPool
from bife_core.symbolic.columns import Columns, Floats
from bife_core.symbolic.fitting import Fitted, Fitter


class Relative(Columns):
    """Columns of the 72 features, then of each over its largest value in the node, then of its rank there."""

    def __init__(self, decisions: Decisions) -> None:
        super().__init__(decisions)
        self.offered = range(3 * N_FEATURES)

    def _leaf(self, feature: int) -> Floats:
        kind, plain = divmod(feature, N_FEATURES)
        values = super()._leaf(plain)
        match kind:
            case 0:
                return values
            case 1:
                return np.maximum(
                    values / self.over_decisions(np.maximum.reduceat(values, self.starts)), FLOOR
                )
            case _:
                return np.maximum(self._ranks(values), FLOOR)

    def _ranks(self, values: Floats) -> Floats:
        """Return the share of the node's other candidates with a smaller value."""
        ranks = np.empty_like(values)
        for start, size in zip(self.starts, self.sizes, strict=True):
            here = values[start : start + size]
            ranks[start : start + size] = np.searchsorted(np.sort(here), here) / max(1, size - 1)
        return ranks


def main() -> None:
    options = parse(__doc__, decisions=700, per_model=20, grown=6, draws=20, store=None, workers=1)
    with home_of(options.store) as home, WorkerPool(options.workers) as pool:
        for family in options.families:
            tell({"family": family} | measured(family, options, home, pool))


def measured(family: str, options: Any, home: Path, pool: WorkerPool) -> dict[str, Any]:
    """Return the line of one family."""
    decisions = narrowed(extended_decisions(family, options, home, pool), N_FEATURES)
    began_s = time.process_time()
    rows, read = [], []
    for _, fitted, held_out in halves(decisions, options.draws):
        plain = selected(Columns(fitted), options.grown)
        relative = selected(Relative(fitted), options.grown)
        rows.append((agreement(plain, Columns(held_out)), agreement(relative, Relative(held_out))))
        read += [feature >= N_FEATURES for feature in leaves(relative.root)]
    return {
        "decisions": len(decisions),
        "models": len(set(decisions.instance)),
        "seeds": options.draws,
        **gained(rows, ("khalil72", "relative")),
        "chosen": round(float(np.mean(read)), 2),
        "cpu_s": round(time.process_time() - began_s),
    }


def selected(columns: Columns, terms: int) -> Fitted:
    """Return the formula, of those with more and more factors, whose numbers are worth their place."""
    return min(Fitter(columns).select(terms), key=lambda fitted: fitted.information)


def agreement(formula: Fitted, columns: Columns) -> float:
    """Return the share of decisions in which a formula chooses as strong branching did."""
    rows = chosen_rows(columns.value(formula.root), np.append(columns.starts, len(columns.best)))
    return float(columns.best[rows].mean())


if __name__ == "__main__":
    main()
