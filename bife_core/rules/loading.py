"""From whatever names a rule (a file, a reference rule, a registry entry) to the compiled rule."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final

from bife_core.errors import BifeError, RuleError
from bife_core.rules.compiling import compile_rule
from bife_core.rules.reference_rules import REFERENCE_RULES
from bife_core.rules.types import CompiledRule, Rejection

Resolver = Callable[[str], str]
"""Takes a reference such as ``models:/bife-x@champion`` and returns the rule's source; raises `RuleError`."""

RESOLVER_GROUP: Final = "bife.rule_resolvers"
"""Entry point group: the name of an entry is the scheme, its object a `Resolver`."""

# Two letters at least: a single one before a colon is a drive.
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")

_resolvers: dict[str, Resolver] = {}


def register_resolver(scheme: str, resolver: Resolver) -> None:
    """Let `load_rule` understand references that start with ``scheme:``; the last registration counts.

    Parameters
    ----------
    scheme : str
        What stands before the colon, two characters or more.
    resolver : callable
        Takes the whole reference and returns the source of the rule.
    """
    if _SCHEME.fullmatch(f"{scheme}:") is None:
        raise RuleError(f"{scheme!r} cannot be a scheme: it must be a letter and more letters or digits.")
    _resolvers[scheme] = resolver


def rule_source(ref: str | Path) -> tuple[str, str]:
    """Return name and source of the rule a reference means.

    Raises
    ------
    RuleError
        If nothing is found under the reference.
    """
    text = str(ref)
    if not isinstance(ref, Path) and text in REFERENCE_RULES:
        return text, REFERENCE_RULES[text].source
    scheme = _SCHEME.match(text)
    if not isinstance(ref, Path) and scheme is not None:
        return text, _resolved(scheme.group(1), text)
    path = Path(ref)
    looks_like_file = isinstance(ref, Path) or path.suffix == ".py" or len(path.parts) > 1
    if looks_like_file or (text and path.exists()):
        return path.stem, _read(path)
    near = difflib.get_close_matches(text, REFERENCE_RULES, n=3)
    hint = (
        f"did you mean {' or '.join(near)}?" if near else f"reference rules are {', '.join(REFERENCE_RULES)}."
    )
    raise RuleError(f"There is no rule {text!r}, neither a file nor a reference rule; {hint}")


def load_rule(ref: str | Path) -> CompiledRule:
    """Load and compile a rule.

    Parameters
    ----------
    ref : str or Path
        A Python file, the name of a reference rule, or ``scheme:...`` for a registered resolver, such as
        ``models:/bife-combinatorial_auction@champion``.

    Raises
    ------
    RuleError
        If nothing is found under the reference, or what is found is no allowed rule.

    Examples
    --------
    >>> load_rule("pseudocost_product").name
    'pseudocost_product'
    """
    name, source = rule_source(ref)
    rule = compile_rule(source, name=name)
    if isinstance(rule, Rejection):
        raise RuleError(f"{ref} is not a usable rule: {rule.reason}")
    return rule


def _resolved(scheme: str, ref: str) -> str:
    resolver = _resolvers.get(scheme)
    if resolver is None:
        found = [entry for entry in entry_points(group=RESOLVER_GROUP) if entry.name == scheme]
        if not found:
            known = sorted({*_resolvers, *(entry.name for entry in entry_points(group=RESOLVER_GROUP))})
            schemes = ", ".join(f"{name}:" for name in known) or "none"
            raise RuleError(f"No resolver for {scheme!r} references is installed (known schemes: {schemes}).")
        try:
            resolver = found[0].load()
        except (ImportError, AttributeError) as error:
            raise RuleError(f"The resolver for {scheme!r} references cannot be loaded: {error}.") from error
    try:
        return resolver(ref)
    except BifeError as error:
        raise RuleError(str(error)) from error


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise RuleError(f"There is no file {path}; give a rule's Python file.") from None
    except UnicodeDecodeError:
        raise RuleError(f"{path} is not UTF-8 text; a rule is a Python file.") from None
    except OSError as error:
        raise RuleError(f"{path} cannot be read: {error.strerror or error}.") from error
