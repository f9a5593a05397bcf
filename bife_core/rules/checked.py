"""All static stages in order: text, tree, allowed language, normal form, hash, features."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from bife_core.rules.canonical import canonical_functions
from bife_core.rules.checking import check
from bife_core.rules.flow import always_returns, may_be_unassigned
from bife_core.rules.growth import check_growth
from bife_core.rules.hashing import hash_functions
from bife_core.rules.indices import features_read
from bife_core.rules.language import FUNCTION_NAME, MAX_NODES
from bife_core.rules.names import collect
from bife_core.rules.parsing import count_nodes, parse
from bife_core.rules.refusal import Refusal, forbidden
from bife_core.rules.types import Rejection


@dataclass(frozen=True)
class CheckedRule:
    """A rule inside the allowed language; nothing of it has run.

    Attributes
    ----------
    functions : tuple of ast.FunctionDef
        Normal form, the scoring function first.
    sha : str
        Hash of the normal form.
    features : frozenset of int or None
        Columns the rule reads; None when the text does not settle them.
    unassigned : str or None
        A name some path may read before it is assigned; such a rule is interpreted.
    """

    functions: tuple[ast.FunctionDef, ...]
    sha: str
    features: frozenset[int] | None
    unassigned: str | None


def check_source(source: str | bytes) -> CheckedRule | Rejection:
    """Check a source without running any of it.

    Returns
    -------
    CheckedRule or Rejection
        The rule in normal form, or why it is refused, with the line.
    """
    try:
        return _checked(source)
    except Refusal as refusal:
        return refusal.rejection
    except RecursionError:  # names that lead from one to the next, or the caller's own stack was nearly full
        return Rejection("forbidden", "The source is nested too deeply to be checked.")
    except MemoryError:
        return Rejection("forbidden", "The source needs more memory to be checked than there is.")


def _checked(source: str | bytes) -> CheckedRule:
    names = collect(parse(source))
    check(names)
    functions = canonical_functions(names)
    # Constants put in where they are used can make the tree larger than its text.
    if sum(count_nodes(function) for function in functions) > 2 * MAX_NODES:
        raise forbidden("The code is too large once its constants are put in.")
    check_growth(functions)
    for function in functions:
        if not always_returns(function.body):
            what = (
                "the scoring function" if function.name == FUNCTION_NAME else f"the helper {function.name!r}"
            )
            raise Refusal("type", f"{what} can end without returning a number", function)
    unassigned = next(filter(None, (may_be_unassigned(function) for function in functions)), None)
    return CheckedRule(functions, hash_functions(functions), features_read(functions), unassigned)
