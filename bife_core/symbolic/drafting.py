"""One rule fitted to decisions, in a worker process."""

from __future__ import annotations

import time
from functools import lru_cache
from pathlib import Path
from typing import Final

import numpy as np

from bife_core.decisions.recorded import Decisions, numbers_in
from bife_core.generators.base import Draft
from bife_core.generators.offline.reader import read
from bife_core.generators.offline.writer import describe, write
from bife_core.sandbox import Workers, submit_repeated
from bife_core.search.types import Fit, SampleRequest
from bife_core.symbolic.breeding import breed
from bife_core.symbolic.columns import Columns
from bife_core.symbolic.fitting import Fitted, Fitter

NAME: Final = "symbolic"

_POPULATION: Final = 24
_DRAWN: Final = 3
"""Formulas drawn, of which the best becomes the rule."""

_LIMIT_S: Final = 900.0
_ROOM_MB: Final = 3072.0
_ROOM_PER_NUMBER: Final = 96.0
"""Bytes of memory besides `_ROOM_MB` for each feature of each candidate: it is read, sorted into columns, and its
logarithm is kept in seven shapes."""


def fit_draft(request: SampleRequest, decisions: Path, pool: Workers) -> Draft:
    """Return a rule that was fitted to recorded decisions, as a draft nobody wrote.

    Raises
    ------
    WorkerFailure
        If its worker is lost twice.
    """
    assert request.fit is not None
    known = [parent.source for parent in request.parents if parent.source is not None]
    found = submit_repeated(
        pool,
        "bife_core.symbolic.drafting:work",
        {
            "decisions": str(decisions),
            "fit": request.fit.model_dump(),
            "seed": request.seed,
            "parents": known,
        },
        limit_s=_LIMIT_S,
        memory_mb=_ROOM_MB + _ROOM_PER_NUMBER * numbers_in(decisions) / 2**20,
        reads=[decisions],
    ).result()
    return Draft(key=request.id, generator=NAME, model="", **found)


def work(decisions: str, fit: dict[str, int], seed: int, parents: list[str]) -> dict[str, str | float]:
    """Fit a rule; what `fit_draft` calls in a worker."""
    began_s = time.process_time()
    rng = np.random.Generator(np.random.PCG64(seed))
    formulas = fit_rules(_fitter(decisions), Fit.model_validate(fit), rng, parents)
    if not formulas:
        nothing = "No feature tells the candidates of the recorded decisions apart."
        return {"failure": nothing, "seconds": time.process_time() - began_s}
    # One of the best, not always the very best: all requests breed on the same decisions, and F_HF is to choose.
    chosen = formulas[int(rng.integers(len(formulas), size=_DRAWN).min())]
    how = "bred" if fit["children"] else "its factors added one by one"
    return {
        "source": write(chosen.root),
        "thought": f"Fitted to the recorded decisions, {how}: {describe(chosen.root)}.",
        "seconds": time.process_time() - began_s,
    }


def fit_rules(
    fitter: Fitter, fit: Fit, rng: np.random.Generator, parents: list[str] | None = None
) -> list[Fitted]:
    """Return fitted rules, the best first; parents are not among them.

    Parameters
    ----------
    parents : list of str, optional
        Sources of rules to breed from; those outside the grammar are passed over.
    """
    path = fitter.select(fit.terms)
    if not path or not fit.children:
        return path[-1:]
    trees = [tree for source in parents or () if (tree := read(source)) is not None]
    founders = [fitted for tree in trees if (fitted := fitter.fit(tree)) is not None]
    known = {fitted.root for fitted in founders} | set(trees)
    bred = breed(fitter, [*path, *founders], fit, _POPULATION, rng)
    return [fitted for fitted in bred if fitted.root not in known]


@lru_cache(maxsize=2)
def _fitter(path: str) -> Fitter:
    return Fitter(Columns(Decisions.load(Path(path))))
