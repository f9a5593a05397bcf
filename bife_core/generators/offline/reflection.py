"""Reflections without a language model: what better rules read that worse ones do not, counted and put in words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from bife_core.features import FEATURES
from bife_core.generators.offline.reader import read
from bife_core.generators.offline.syntax import features_read
from bife_core.generators.offline.writer import describe
from bife_core.search.types import WrittenRequest

_MOST_NAMED: Final = 5
_INDEX: Final = {feature.name: feature.index for feature in FEATURES}
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_AVOIDING: Final = re.compile(r"\b(avoid|drop|without|omit|not)\b[^.;]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Hints:
    """Features that hints speak for, and against, by index and in the order they are named."""

    favoured: tuple[int, ...] = ()
    avoided: tuple[int, ...] = ()


def read_hints(texts: Iterable[str]) -> Hints:
    """Read which features hints speak for and against, whoever wrote them.

    A feature named after "avoid", "drop", "without", "omit" or "not" is spoken against, up to the end of the clause.

    Examples
    --------
    >>> read_hints(["Favour slack. Avoid obj_coef."])
    Hints(favoured=(18,), avoided=(0,))
    """
    votes: Counter[int] = Counter()
    for text in texts:
        against = " ".join(match.group(0) for match in _AVOIDING.finditer(text))
        votes.update(_named(_AVOIDING.sub(" ", text)))
        votes.subtract(_named(against))
    return Hints(
        favoured=tuple(index for index, count in votes.items() if count > 0),
        avoided=tuple(index for index, count in votes.items() if count < 0),
    )


def _named(text: str) -> list[int]:
    return list(dict.fromkeys(_INDEX[word] for word in _WORD.findall(text) if word in _INDEX))


def reflect(request: WrittenRequest) -> str:
    """Return the text of a reflection.

    Short-term: the features that the better rule (the last parent) reads and the worse does not, and the reverse; where
    they read the same, the better one's formula. Long-term: the features that most hints speak for, and against.
    """
    if request.operator == "long_term_reflection" or len(request.parents) < 2:
        return _sentences(_tally(request.hints))
    worse, better = (features_read(parent.written) for parent in request.parents[-2:])
    gained = tuple(index for index in better if index not in worse)
    lost = tuple(index for index in worse if index not in better)
    if gained or lost:
        return _sentences(Hints(gained, lost))
    tree = read(request.parents[-1].written)
    formula = f": {describe(tree)}" if tree is not None else ""
    return f"Both read the same features; combine them as the better one does{formula}."


def _tally(hints: tuple[str, ...]) -> Hints:
    votes: Counter[int] = Counter()
    for hint in map(read_hints, ((text,) for text in hints)):
        votes.update(hint.favoured)
        votes.subtract(hint.avoided)
    # Ties go to the feature named first: `sorted` is stable.
    ranked = sorted(votes.items(), key=lambda item: -item[1])
    return Hints(
        favoured=tuple(index for index, count in ranked if count > 0),
        avoided=tuple(index for index, count in reversed(ranked) if count < 0),
    )


def _sentences(hints: Hints) -> str:
    parts = [
        f"{verb} {', '.join(FEATURES[index].name for index in chosen[:_MOST_NAMED])}."
        for verb, chosen in (("Favour", hints.favoured), ("Avoid", hints.avoided))
        if chosen
    ]
    return " ".join(parts) or "No feature sets better rules apart from worse ones."
