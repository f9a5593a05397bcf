"""Source in, compiled rule or rejection out. Nothing here runs the rule."""

from __future__ import annotations

import copyreg
import inspect
import re
import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np

from bife_core.errors import RuleError
from bife_core.features import N_FEATURES
from bife_core.rules.checked import check_source
from bife_core.rules.language import FUNCTION_NAME
from bife_core.rules.types import CompiledRule, Rejection


def compile_rule(
    source: str | bytes | Callable[..., Any], *, name: str | None = None
) -> CompiledRule | Rejection:
    """Check a rule and compile it to machine code; no code of the rule runs.

    Parameters
    ----------
    source : str, bytes or function
        Python text of one rule (`docs/rules.md` says what it may contain), or a function of one argument.
    name : str or None
        Name of the rule; None derives one from its hash.

    Returns
    -------
    CompiledRule or Rejection
        The rule, ready to score, or why it is rejected.

    Examples
    --------
    >>> rule = compile_rule("def candidate_variable_score(f): return f[20] * f[21]")
    >>> sorted(rule.features)
    [20, 21]
    >>> compile_rule("def candidate_variable_score(f): return open('x')").reason
    'Line 1: open is not among the functions a rule may use.'
    """
    if callable(source):
        given = _source_of(source)
        if isinstance(given, Rejection):
            return given
        return compile_rule(given, name=name or getattr(source, "__name__", None))
    if not isinstance(source, str | bytes):
        raise RuleError(
            f"A rule was expected as Python text or a function, found {type(source).__name__}; load_rule takes files."
        )
    checked = check_source(source)
    if isinstance(checked, Rejection):
        return checked
    # numba takes a third of a second to import, which checking alone does not need.
    from bife_core.rules.machine_code import compile_functions

    try:
        code = compile_functions(checked.functions, checked.features, checked.sha)
    except Exception as error:  # noqa: BLE001 - numba raises many types; each means "cannot compile this"
        return Rejection("type", f"The rule is too large or too deep for numba ({type(error).__name__}).")
    text = source if isinstance(source, str) else source.decode("utf-8-sig")
    named = name if name is not None else f"rule_{checked.sha[:8]}"
    return CompiledRule(named, text, checked.sha, checked.features, code)


def _source_of(function: Callable[..., Any]) -> str | Rejection:
    """Return the text of a function as that of a rule."""
    try:
        text = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        return Rejection(
            "no_code", f"The source of {function!r} cannot be read; give the rule as text or in a file."
        )
    found = re.match(r"def\s+\w+", text)
    if found is None:
        return Rejection(
            "no_code", "A rule is a plain function (def, without decorators), not a lambda or a class."
        )
    return f"def {FUNCTION_NAME}{text[found.end() :]}"


def recompiled(source: str, name: str) -> CompiledRule:
    """Return the rule of a source; what unpickling a rule calls.

    Raises
    ------
    RuleError
        If the source is no allowed rule.
    """
    rule = compile_rule(source, name=name)
    if isinstance(rule, Rejection):
        raise RuleError(rule.reason)
    return rule


# Machine code stays in its process: a copy is compiled anew from the source, which is checked again.
copyreg.pickle(CompiledRule, lambda rule: (recompiled, (rule.source, rule.name)))


def rule_sha(source: str | bytes) -> str:
    """Return the hash of a rule's normalised syntax tree.

    Raises
    ------
    RuleError
        If the source is no allowed rule.
    """
    checked = check_source(source)
    if isinstance(checked, Rejection):
        raise RuleError(checked.reason)
    return checked.sha


def score_one(source: str, value: float) -> dict[str, float]:
    """Compile a rule and return its `score` of a candidate whose features are all `value`.

    `bife doctor` and the tests have a worker call it, to show that rules run there.

    Raises
    ------
    RuleError
        If the rule is rejected.
    """
    rule = recompiled(source, "rule")
    return {"score": float(rule.score(np.full((1, N_FEATURES), value))[0])}
