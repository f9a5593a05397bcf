"""Check and compile rules, without running them."""

from __future__ import annotations

import copyreg
import hashlib
import inspect
import re
import textwrap
import threading
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from bife_core.base.arguments import checked
from bife_core.base.errors import RuleError
from bife_core.base.native import Source, loaded
from bife_core.language.components import BRANCHING, Component
from bife_core.language.rules.llvm import rule_in_llvm
from bife_core.language.rules.lowering import lower
from bife_core.language.rules.module import Module, parse
from bife_core.language.rules.types import CompiledRule, Program, Rejection, RejectionError

_addresses: Final[dict[str, int]] = {}
"""Addresses of rules by their hashes; machine code is loaded for the life of the process."""

_lock: Final = threading.RLock()


def check_source(source: str | bytes, component: Component = BRANCHING) -> Program | Rejection:
    """Return a rule as a scalar program, or its rejection."""
    try:
        return lower(Module.of(parse(source), component))
    except RejectionError as error:
        return error.rejection
    except (RecursionError, MemoryError):  # the caller's own stack may have been nearly full
        return Rejection("forbidden", "The source is nested too deeply to be checked.")


@checked
def compile_rule(
    source: str | bytes | Callable[..., Any],
    *,
    name: str | None = None,
    component: Component = BRANCHING,
    keep: bool = False,
) -> CompiledRule | Rejection:
    """Check a rule and compile it to machine code; no code of the rule runs.

    Parameters
    ----------
    source : str, bytes or function
        Python text of one rule (`docs/reference/rule-language.md`), or a function of one argument.
    name : str or None
        Name of the rule; None derives one from its hash.
    component : Component
        What the rule decides.
    keep : bool
        Whether its machine code stays on disk, so that later processes load it.

    Examples
    --------
    >>> rule = compile_rule("def candidate_variable_score(f): return f[20] * f[21]")
    >>> sorted(rule.features)
    [20, 21]
    >>> compile_rule("def candidate_variable_score(f): return open('x')").reason
    'Line 1: open is not among the functions a rule may use.'
    """
    if callable(source):
        name = name or getattr(source, "__name__", None)
        try:
            text = textwrap.dedent(inspect.getsource(source))
        except (OSError, TypeError):
            return Rejection("no_code", f"The source of {source!r} cannot be read; give the rule as text.")
        head = re.match(r"def\s+\w+", text)
        if head is None:
            return Rejection(
                "no_code", "A rule is a plain function (def, undecorated), not a lambda or a class."
            )
        source = f"def {component.function}{text[head.end() :]}"
    program = check_source(source, component)
    if isinstance(program, Rejection):
        return program
    try:
        address = _machine_code(program, keep)
    except (
        RecursionError,
        MemoryError,
        RuntimeError,
    ) as error:  # the caller's own stack may have been nearly full
        reason = f"The rule is too large or too deep to be compiled ({type(error).__name__})."
        return Rejection("type", reason)
    text = source if isinstance(source, str) else source.decode("utf-8-sig")
    name = name or f"rule_{program.sha[:8]}"
    return CompiledRule(name, text, program.sha, program.features, address, component)


def _machine_code(program: Program, keep: bool) -> int:
    """Return the address of a loop that scores every candidate: it touches no Python object and no lock."""
    with _lock:
        if program.sha not in _addresses:
            name = f"bife_score_{program.sha}"
            text = rule_in_llvm(program, name)
            digest = hashlib.sha256(text.encode()).hexdigest()
            addresses = loaded(f"rule-{digest}", lambda: Source(text, [name]), keep=keep)
            _addresses[program.sha] = addresses(name)
        return _addresses[program.sha]


def recompiled(source: str, name: str, component: Component = BRANCHING, keep: bool = False) -> CompiledRule:
    """Return the rule of a source, or raise `RuleError`."""
    rule = compile_rule(source, name=name, component=component, keep=keep)
    if isinstance(rule, Rejection):
        raise RuleError(rule.reason)
    return rule


# Machine code stays in its process: a copy is compiled anew from the source, which is checked again.
copyreg.pickle(CompiledRule, lambda rule: (recompiled, (rule.source, rule.name, rule.component)))


def rule_sha(source: str | bytes, component: Component = BRANCHING) -> str:
    """Return the hash of a rule's scalar program, or raise `RuleError`."""
    program = check_source(source, component)
    if isinstance(program, Rejection):
        raise RuleError(program.reason)
    return program.sha


def score_one(source: str, value: float) -> dict[str, float]:
    """Return a rule's `score` of a candidate whose features are all `value`, for `bife doctor`."""
    rule = recompiled(source, "rule")
    return {"score": float(rule.score(np.full((1, BRANCHING.n_features), value))[0])}
