"""Formulas fitted to decisions, for the scripts that judge them by decisions of other models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bench.options import benchmark_of, decisions_of
from bife_core.config import CollectionConfig
from bife_core.decisions.recorded import Decisions, concatenate
from bife_core.generators.offline.expression import Node
from bife_core.sandbox import WorkerPool
from bife_core.search.types import Fit
from bife_core.symbolic.columns import Columns
from bife_core.symbolic.drafting import fit_rules
from bife_core.symbolic.fitting import Fitter


def best_formula(decisions: Decisions, fit: Fit, rng: np.random.Generator) -> Node:
    """Return the likeliest formula for its size, of those selected and those bred."""
    fitter = Fitter(Columns(decisions))
    made = [*fitter.select(fit.terms), *fit_rules(fitter, fit, rng)]
    return min(made, key=lambda fitted: fitted.information).root


def extended_decisions(family: str, options: Any, home: Path, pool: WorkerPool) -> Decisions:
    """Return decisions of a family with all features, as many as `--decisions` and `--per-model` say."""
    config = CollectionConfig(
        decisions=options.decisions, decisions_per_instance=options.per_model, features="extended"
    )
    return decisions_of(benchmark_of(family, options), config, home, pool)


def gained(rows: Sequence[tuple[float, float]], names: tuple[str, str]) -> dict[str, float]:
    """Return the mean agreements before and after, a row a draw, under their names, and what that gained."""
    known = np.array(rows)
    means, gains = known.mean(axis=0), known[:, 1] - known[:, 0]
    return {
        **{name: round(float(mean), 4) for name, mean in zip(names, means, strict=True)},
        "gain": round(float(gains.mean()), 4),
        "gain_stderr": round(float(gains.std(ddof=1)) / len(rows) ** 0.5, 4),
        "better": int((gains > 0).sum()),
    }


def halves(decisions: Decisions, draws: int) -> Iterator[tuple[int, Decisions, Decisions]]:
    """Yield so often a seed, the decisions of half of the models, drawn with it, and those of the other half."""
    models = list(dict.fromkeys(decisions.instance))
    for seed in range(draws):
        drawn = np.random.default_rng(seed).permutation(len(models))
        fitted, held_out = (
            _of_models(decisions, [models[place] for place in part]) for part in np.array_split(drawn, 2)
        )
        yield seed, fitted, held_out


def narrowed(decisions: Decisions, width: int) -> Decisions:
    """Return the decisions with their first `width` features alone."""
    return replace(decisions, columns=np.ascontiguousarray(decisions.columns[:width]))


def _of_models(decisions: Decisions, names: list[str]) -> Decisions:
    places = [(decisions.instance.index(name), decisions.instance.count(name)) for name in names]
    return concatenate([decisions[first : first + count] for first, count in places])
