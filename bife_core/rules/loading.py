"""From whatever names a rule (a file, a reference rule, a registry entry) to the compiled rule."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from bife_core.errors import BifeError, RuleError
from bife_core.plugins import Plugins
from bife_core.rules.compiling import compile_rule
from bife_core.rules.reference_rules import REFERENCE_RULES
from bife_core.rules.types import CompiledRule, Rejection

Resolver = Callable[[str], str]
"""Takes a reference such as ``models:/bife-x@champion`` and returns the rule's source; raises `RuleError`."""

RESOLVERS: Final[Plugins[Resolver]] = Plugins(
    "rule resolver", "bife.rule_resolvers", {}, callable, "a function from a reference to a source"
)
"""Scheme -> who resolves references that begin with it."""

# Two letters at least: a single one before a colon is a drive.
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")


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
        try:
            return text, RESOLVERS.find(scheme.group(1))(text)
        except BifeError as error:
            raise RuleError(str(error)) from error
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
        raise unusable(ref, source, rule)
    return rule


def unusable(ref: str | Path, text: str, why: Rejection) -> RuleError:
    """Return the error that says why the text a reference means is no rule; it may be another method."""
    try:
        kind = json.loads(text)["kind"]
    except (ValueError, TypeError, KeyError):
        return RuleError(f"{ref} is not a usable rule: {why.reason}")
    return RuleError(
        f"{ref} is no rule but a method of the kind {kind!r}, without source; load_method loads it."
    )


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise RuleError(f"There is no file {path}; give a rule's Python file.") from None
    except UnicodeDecodeError:
        raise RuleError(f"{path} is not UTF-8 text; a rule is a Python file.") from None
    except OSError as error:
        raise RuleError(f"{path} cannot be read: {error.strerror or error}.") from error
