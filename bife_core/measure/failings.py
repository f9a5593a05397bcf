"""Where a rule differs from strong branching and what it needs, in sentences for the model that is to improve it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from bife_core.language.features import FEATURES
from bife_core.measure.choices import Rows, Yardstick, scores_of
from bife_core.measure.decisions.recorded import Decisions
from bife_core.measure.low_measures import Floats
from bife_core.solver.methods.scorer import RuleMethod

_NAMED: Final = 4  # features that are named at most
_APART: Final = 0.05  # how far the mean places in a feature must lie apart for it to be named, at least
_ERRORS: Final = 3.0  # how many standard errors they must lie apart
_NAMES: Final = tuple(feature.name for feature in FEATURES)
_ALIKE: Final = 0.8  # share of equal signs from which on two features say the same


def failings(decisions: Decisions, chosen: Rows, names: Sequence[str] = _NAMES) -> tuple[str, ...]:
    """Return how often the rule chose rightly at which depth, and by what its choices differ from strong branching's.

    Choices are compared by their places among all candidates of the node: beside the rule's alone, the right one has
    less of whatever the rule rewards. `chosen` has a row for each decision, or -1; unnamed features are left out.
    """
    best = decisions.best
    right = np.asarray((chosen >= 0) & best[chosen])
    sentences = [f"It chose as strong branching did in {_by_depth(decisions.depth, right)}."]
    # The first best row of each decision stands for all of them, unless the rule chose another.
    firsts = np.flatnonzero(best)
    expert = np.where(right, chosen, firsts[np.searchsorted(firsts, decisions.offsets[:-1])])
    decided = chosen >= 0
    if (decided & ~right).any():
        # Of what is nowhere positive the size is named: its "larger" would be read as "farther from 0".
        size = np.all(decisions.columns <= 0, axis=1)
        both = (_places(decisions, rows)[:, decided] for rows in (expert, chosen))
        theirs, rules = (np.abs(places - size[:, None]) for places in both)
        named = [
            f"at {theirs[index].mean():.2f} and {rules[index].mean():.2f} by "
            f"{'the size of ' if size[index] else ''}{names[index]}"
            for index in _apart(theirs, rules, ~right[decided], names)
        ]
        if named:
            sentences.append(
                "Among the candidates of a node, from 0 for the smallest to 1 for the largest, strong branching's "
                f"choice and the rule's stand on average {', '.join(named)}."
            )
    return tuple(sentences)


def contributions(rule: RuleMethod, decisions: Decisions, yardstick: Yardstick) -> tuple[str, ...]:
    """Return a sentence, if any, on F_LF without each of a rule's features, those it needs least first."""
    columns, reached = decisions.columns.copy(), dict[int, float]()
    changed = replace(decisions, columns=columns)
    for index in sorted(rule.features):
        columns[index] = np.median(decisions.columns[index])
        reached[index] = yardstick.of_scores(scores_of(rule, changed))
        columns[index] = decisions.columns[index]
    ranked = sorted(reached, key=lambda index: -reached[index])
    listed = ", ".join(f"[{index}] {reached[index]:.3f}" for index in ranked)
    return (f"F_LF with one of its features held at its median: {listed}.",) if listed else ()


def _places(decisions: Decisions, rows: Rows) -> Floats:
    """Return the share of its node's other candidates that a row exceeds, by feature and decision; equal ones halve."""
    places = np.full((len(FEATURES), len(rows)), 0.5)
    for decision, row in enumerate(rows):
        node = decisions.columns[:, decisions.offsets[decision] : decisions.offsets[decision + 1]]
        if row >= 0 and node.shape[1] > 1:
            value = decisions.columns[:, row, None]
            exceeded = (node < value).sum(axis=1) + 0.5 * ((node == value).sum(axis=1) - 1)
            places[:, decision] = exceeded / (node.shape[1] - 1)
    return places


def _by_depth(depth: np.ndarray, right: np.ndarray) -> str:
    """Return how many choices are right at the root, in the upper and in the lower half of the decisions below it."""
    below = depth[depth > 0]
    middle = int(np.median(below)) if len(below) else 0
    parts = (
        ("at the root", depth == 0),
        (f"at depths 1 to {middle}" if middle > 1 else "at depth 1", (depth > 0) & (depth <= middle)),
        (f"below depth {middle}", depth > middle),
    )
    return ", ".join(f"{right[at].sum()} of {at.sum()} decisions {name}" for name, at in parts if at.any())


def _apart(theirs: Floats, rules: Floats, wrong: np.ndarray, names: Sequence[str]) -> list[int]:
    """Return the features in which places differ most in the mean, and surely, each saying something of its own."""
    differences = theirs - rules
    mean = differences.mean(axis=1)
    error = differences.std(axis=1) / np.sqrt(differences.shape[1])
    overdone = np.sign(theirs.mean(axis=1) - 0.5) * mean < 0
    clear = np.array([*map(bool, names)]) & ~overdone & (np.abs(mean) >= np.maximum(_APART, _ERRORS * error))
    signs = np.sign(differences[:, wrong]) * np.sign(mean)[:, None]
    named: list[int] = []
    # Rounded: of features that repeat each other the first is named.
    for index in np.argsort(-np.abs(mean).round(3), kind="stable").tolist():
        if clear[index] and all((signs[index] == signs[other]).mean() < _ALIKE for other in named):
            named.append(index)
    return named[:_NAMED]
