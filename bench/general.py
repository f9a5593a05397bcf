"""One formula for many problems: fitted to decisions of several families at once, and to all but one of them.

Each family gives `--fit` decisions to fit and `--held-out` ones, of other models, to judge by. A formula's *share* on a
family is its imitation accuracy there over that of the formula fitted to the family alone; the one sought has the
largest least share. One JSON object a line: for each family {family, own, own_formula}; for each family left out
{without, formula, source, held_out}, its share there; then {formula, source, shares} of the one fitted to all.
`--store` keeps decisions; `--families` names families, at the sizes of `SIZES`, and folders.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from bench import benchmark_of, cut, decisions_of, emit, home_of, parse
from bife_core import CompiledRule, Decisions, WorkerPool, compile_rule, low_fidelity
from bife_core.extend import CollectionConfig
from bife_core.measure.decisions.recorded import concatenate
from bife_core.search.generators.offline.expression import Node
from bife_core.search.generators.offline.source import describe, write
from bife_core.search.symbolic.drafting import fit_rules
from bife_core.search.symbolic.fitting import Columns, Fitter

SIZES: Final = {"transmission_switching": "small", "network_verification": "tiny", "item_placement": "tiny"}
"""Sizes whose full strong branching takes minutes, where that is not the test size."""

_FIT: Final[dict[str, Any]] = {"terms": 5, "children": 240}
_ROUNDS: Final = 6
_LEARNING_RATE: Final = 4.0
"""Of the families' weights, per unit of share."""


def main() -> None:
    options = parse(
        __doc__, solver="default", fit=150, held_out=150, decisions_per_instance=15, time_limit=600.0,
        store=None, workers=1,
    )  # fmt: skip
    rng = np.random.Generator(np.random.PCG64(options.seeds[0]))
    with home_of(options.store) as home, WorkerPool(options.workers) as pool:
        parts = {family: collected(family, options, home, pool) for family in options.families}
    fitted = {family: pair[0] for family, pair in parts.items()}
    held_out = {family: pair[1] for family, pair in parts.items()}
    formulas = {family: best_formula(part, rng) for family, part in fitted.items()}
    rules = {family: as_rule(root) for family, root in formulas.items()}
    limit = {family: low_fidelity(rule, fitted[family]) for family, rule in rules.items()}
    reached = {family: low_fidelity(rule, held_out[family]) for family, rule in rules.items()}
    for family, root in formulas.items():
        emit({"family": family, "own": round(reached[family], 3), "own_formula": describe(root)})
    for family in options.families if len(options.families) > 2 else ():
        others = {other: part for other, part in fitted.items() if other != family}
        root = general(others, limit, rng)
        share = shares(root, held_out, reached)[family]
        emit({"without": family, "formula": describe(root), "source": write(root), "held_out": share})
    root = general(fitted, limit, rng)
    emit({"formula": describe(root), "source": write(root), "shares": shares(root, held_out, reached)})


def best_formula(decisions: Decisions, rng: np.random.Generator) -> Node:
    fitter = Fitter(Columns(decisions))
    made = [*fitter.select(_FIT["terms"]), *fit_rules(fitter, rng, **_FIT)]
    return min(made, key=lambda fitted: fitted.information).root


def collected(family: str, options: Any, home: Path, pool: WorkerPool) -> tuple[Decisions, Decisions]:
    """Return decisions of a family to fit and to judge by."""
    sized = Namespace(**vars(options) | {"size": SIZES.get(family, "test")})
    settings = {"decisions": options.fit + options.held_out, "time_limit_s": options.time_limit}
    settings["decisions_per_instance"] = options.decisions_per_instance
    collection = CollectionConfig.model_validate(settings)
    return cut(decisions_of(benchmark_of(family, sized), collection, home, pool, options.solver), options.fit)


def general(parts: Mapping[str, Decisions], limit: Mapping[str, float], rng: np.random.Generator) -> Node:
    """Return the formula whose least share over the families is largest; `limit` is what a share of 1 is."""
    families = list(parts)
    weights = np.full(len(families), 1.0 / len(families))
    pieces = {family: [part[k : k + 1] for k in range(len(part))] for family, part in parts.items()}
    least: dict[Node, float] = {}
    for _ in range(_ROUNDS):
        drawn = [
            pieces[family][int(k)]
            for family, weight in zip(families, weights, strict=True)
            for k in rng.integers(len(pieces[family]), size=round(weight * 150 * len(families)))
        ]
        fitter = Fitter(Columns(concatenate(drawn)))
        made = [*fitter.select(_FIT["terms"]), *fit_rules(fitter, rng, **_FIT)[:6]]
        for root in {fitted.root for fitted in made}:
            least[root] = min(shares(root, parts, limit).values())
        best = max(least, key=lambda root: least[root])
        reached = shares(best, parts, limit)
        weights *= np.exp(-_LEARNING_RATE * np.array([reached[family] for family in families]))
        weights /= weights.sum()
    return best


def shares(root: Node, parts: Mapping[str, Decisions], limit: Mapping[str, float]) -> dict[str, float]:
    """Return agreement over that of the families' own formulas."""
    rule = as_rule(root)
    return {family: round(low_fidelity(rule, part) / limit[family], 3) for family, part in parts.items()}


def as_rule(root: Node) -> CompiledRule:
    rule = compile_rule(write(root), name="fitted")
    assert isinstance(rule, CompiledRule), rule.reason
    return rule


if __name__ == "__main__":
    main()
