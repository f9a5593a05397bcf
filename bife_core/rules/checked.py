"""All stages before the compiler, in order: text, tree, allowed language, normal form, hash, scalar program."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from bife_core.rules.canonical import canonical_functions
from bife_core.rules.checking import check
from bife_core.rules.hashing import hash_functions
from bife_core.rules.language import MAX_NODES
from bife_core.rules.lowering import lower
from bife_core.rules.names import collect
from bife_core.rules.parsing import count_nodes, parse
from bife_core.rules.rejections import RejectionError, forbidden
from bife_core.rules.types import Rejection
from bife_core.rules.unrolling import unroll


@dataclass(frozen=True)
class CheckedRule:
    """A rule inside the allowed language; nothing of it has run.

    Attributes
    ----------
    functions : tuple of ast.FunctionDef
        Its scalar program (`bife_core.rules.unrolling`), the scoring function first.
    sha : str
        Hash of the normal form.
    features : frozenset of int or None
        Columns the rule reads; None when the text does not settle them.
    """

    functions: tuple[ast.FunctionDef, ...]
    sha: str
    features: frozenset[int] | None


def check_source(source: str | bytes) -> CheckedRule | Rejection:
    """Check a source without running any of it.

    Returns
    -------
    CheckedRule or Rejection
        The rule as a scalar program, or why it is rejected, with the line.
    """
    try:
        return _checked(source)
    except RejectionError as error:
        return error.rejection
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
    sha = hash_functions(functions)
    program = unroll(lower(functions))
    return CheckedRule(program.functions, sha, program.features)
