"""From whatever names a method (SCIP's name, a plugin's, a file, a reference rule, a registry entry) to the method."""

from __future__ import annotations

import json
from pathlib import Path
from types import FunctionType
from typing import Final, cast

from pydantic import TypeAdapter, ValidationError

from bife_core.errors import RuleError
from bife_core.methods.base import METHODS, AnyMethod, Method
from bife_core.methods.rule import RuleMethod
from bife_core.methods.scip import ScipMethod
from bife_core.methods.scorer import Scorer
from bife_core.rules import CompiledRule, Rejection, compile_rule
from bife_core.rules.loading import rule_source
from bife_core.scip.builtin import BUILTIN_METHODS
from bife_core.scip.python_branching import Scoring
from bife_core.values import describe


def load_method(reference: str | Path) -> Method:
    """Return the method a reference names.

    Parameters
    ----------
    reference : str or Path
        A branching rule of SCIP, the name of a method another package offers, a JSON file of a method, or whatever
        `load_rule` knows: a Python file, a reference rule, ``models:/<name>@<alias>``.

    Raises
    ------
    RuleError
        If there is no such method, or it cannot be used.
    ConfigError
        If the package that offers it is broken.

    Examples
    --------
    >>> load_method("relpscost").kind, load_method("pseudocost_product").kind
    ('scip', 'rule')
    """
    if reference in BUILTIN_METHODS:
        return ScipMethod(name=str(reference))
    if reference in METHODS.foreign:
        return _valid(
            {"kind": reference, "name": reference}, f"The method {reference!r} needs more than its name"
        )
    name, text = rule_source(reference)
    method = method_of(text, name)
    if isinstance(method, RuleMethod):
        try:
            method.compiled  # noqa: B018 - compiled once to know that it can be
        except RuleError as error:
            raise RuleError(f"{reference} is not a usable rule: {error}") from error
    return method


def as_scoring(given: object) -> Scoring:
    """Return what scores candidates: the rule of a function or a reference, a compiled rule or a `Scorer` as it is.

    Raises
    ------
    RuleError
        If it scores no candidates, or cannot be used.
    """
    if isinstance(given, FunctionType):
        given = compile_rule(given)
    if isinstance(given, str | Path):
        given = load_method(given)
    if isinstance(given, Rejection):
        raise RuleError(f"This is no usable rule: {given.reason}")
    if isinstance(given, RuleMethod):
        return given.compiled
    if isinstance(given, CompiledRule | Scorer) or all(
        hasattr(given, name) for name in ("name", "features", "address", "score")
    ):
        return cast(Scoring, given)
    what = getattr(given, "name", None) or repr(given)
    raise RuleError(
        f"{what} scores no candidates; expected a rule, a function, a scorer, or a file or name of one."
    )


def method_of(text: str, name: str = "rule") -> Method:
    """Return the method a text holds: one of `Method.text`, so JSON or the source of a rule.

    Parameters
    ----------
    name : str
        What it is called if it does not say that itself.

    Raises
    ------
    RuleError
        If JSON holds no method.
    """
    if not text.lstrip().startswith("{"):  # as no rule does
        return RuleMethod(name=name, source=text)
    try:
        data = json.loads(text)
    except ValueError as error:
        raise RuleError(f"{name} is no JSON file of a method: {error}.") from error
    return _valid({"name": name} | data, f"{name} is no method")


_METHOD: Final[TypeAdapter[Method]] = TypeAdapter(AnyMethod)


def _valid(data: dict[str, object], problem: str) -> Method:
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in METHODS:
        raise RuleError(f"{problem}: 'kind' must be one of {', '.join(METHODS)}.")
    try:
        return _METHOD.validate_python(data)
    except ValidationError as error:
        raise RuleError(f"{problem}: {describe(error)}") from error
