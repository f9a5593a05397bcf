"""SCIP's predefined settings (`set emphasis`, `set separating emphasis`, ...), and parameters as these names."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from pyscipopt import SCIP_PARAMEMPHASIS, SCIP_PARAMSETTING, Model

from bife_core.solver.scip.settings import Parameter, is_priority, usual_parameters

_METHODS: Final = {"presolving": "setPresolve", "separating": "setSeparating", "heuristics": "setHeuristics"}

EMPHASES: Final = ("emphasis", *_METHODS)
"""Kinds of predefined settings, in the order in which they are to be set: that of the whole solver first."""

_FEWEST: Final = 3
"""Parameters that a name has to stand for: of one or two a person wants to read the parameter."""


@lru_cache(maxsize=256)
def of_emphases(chosen: tuple[tuple[str, str], ...]) -> dict[str, Parameter]:
    """Return the parameters that predefined settings, by kind, set to other values than SCIP's defaults.

    Those of output and of which rule branches are left out.
    """
    model, usual = Model(), usual_parameters()
    model.hideOutput()
    for kind, name in chosen:
        if kind == "emphasis":
            model.setEmphasis(getattr(SCIP_PARAMEMPHASIS, name.upper()))
        else:
            getattr(model, _METHODS[kind])(getattr(SCIP_PARAMSETTING, name.upper()))
    return {
        name: value
        for name, value in model.getParams().items()
        if value != usual[name] and not name.startswith("display/") and not is_priority(name)
    }


def shortest(params: Mapping[str, Parameter]) -> tuple[dict[str, str], dict[str, Parameter]]:
    """Return predefined settings, by kind, and the parameters that differ from what these set, which give `params`.

    `params` are those that are not at SCIP's defaults. Those names are chosen that leave the shortest text.
    """
    texts = [(dict[str, str](), dict(params))]
    for emphasis in (None, *_names_in(SCIP_PARAMEMPHASIS)) if len(params) >= _FEWEST else ():
        names: dict[str, str] = {} if emphasis is None else {"emphasis": emphasis}
        rest = _differing(params, names)
        for kind in _METHODS:
            for level in _names_in(SCIP_PARAMSETTING):
                differing = _differing(params, {**names, kind: level})
                if len(differing) + _FEWEST <= len(rest):
                    names, rest = {**names, kind: level}, differing
        texts.append((names, rest))
    return min(texts, key=lambda each: _FEWEST * len(each[0]) + len(each[1]))


def _names_in(kind: type) -> list[str]:
    return [name.lower() for name in vars(kind) if name.isupper() and name != "DEFAULT"]


def _differing(params: Mapping[str, Parameter], names: Mapping[str, str]) -> dict[str, Parameter]:
    expanded, usual = of_emphases(tuple(names.items())), usual_parameters()
    every = {**dict.fromkeys(expanded), **params}
    wanted = {name: params.get(name, usual[name]) for name in every}
    return {name: value for name, value in wanted.items() if value != expanded.get(name, usual[name])}
