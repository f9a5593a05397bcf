"""All stages before the compiler: text, tree, allowed language and normal form, hash, scalar program."""

from __future__ import annotations

import ast
import hashlib
from dataclasses import dataclass
from typing import Final

from bife_core.rules.checking import local_names, normal_form, parameters, parse
from bife_core.rules.lowering import lower
from bife_core.rules.types import Rejection, RejectionError

_VERSION: Final = "bife rule 1"
_IGNORED: Final = frozenset({"ctx", "type_comment", "type_params", "kind", "decorator_list", "returns"})


@dataclass(frozen=True)
class CheckedRule:
    """A rule inside the allowed language; nothing of it has run.

    Attributes
    ----------
    functions : tuple of ast.FunctionDef
        Its scalar program (`bife_core.rules.lowering`), the scoring function first.
    sha : str
        Hash of the normal form.
    features : frozenset of int
        Columns the rule reads.
    """

    functions: tuple[ast.FunctionDef, ...]
    sha: str
    features: frozenset[int]


def check_source(source: str | bytes) -> CheckedRule | Rejection:
    """Check a source without running any of it.

    Returns
    -------
    CheckedRule or Rejection
        The rule as a scalar program, or why it is rejected, with the line.
    """
    try:
        functions = normal_form(parse(source))
        sha = hash_functions(functions)
        program, features = lower(functions)
        return CheckedRule(program, sha, features)
    except RejectionError as error:
        return error.rejection
    except RecursionError:  # names that lead from one to the next, or the caller's own stack was nearly full
        return Rejection("forbidden", "The source is nested too deeply to be checked.")
    except MemoryError:
        return Rejection("forbidden", "The source needs more memory to be checked than there is.")


def hash_functions(functions: tuple[ast.FunctionDef, ...]) -> str:
    """Return the SHA-256 of a rule in normal form, with its own names replaced by numbers.

    Literals count with their type (``1`` differs from ``1.0``); argument, local and helper names do not.
    The tree is written out by this module, not by `ast.dump`, whose text changes between Python versions.
    """
    helpers = {function.name: f"f{number}" for number, function in enumerate(functions)}
    text = "\n".join([_VERSION, *(_Writer(function, helpers).text() for function in functions)])
    return hashlib.sha256(text.encode()).hexdigest()


class _Writer:
    def __init__(self, function: ast.FunctionDef, helpers: dict[str, str]) -> None:
        self._function = function
        self._helpers = helpers
        self._numbers = {name: f"v{number}" for number, name in enumerate(parameters(function))}
        self._local = local_names(function)

    def text(self) -> str:
        body = " ".join(self._write(statement) for statement in self._function.body)
        return f"(def {len(parameters(self._function))} {body})"

    def _write(self, value: object) -> str:
        if isinstance(value, ast.Name):
            return self._name(value.id)
        if isinstance(value, ast.Constant):
            return f"{type(value.value).__name__}:{value.value!r}"
        if isinstance(value, ast.AST):
            fields = (
                f"{field}={self._write(getattr(value, field))}"
                for field in value._fields
                if field not in _IGNORED and getattr(value, field, None) not in (None, [])
            )
            return f"({type(value).__name__} {' '.join(fields)})"
        if isinstance(value, list):
            return f"[{' '.join(self._write(item) for item in value)}]"
        return str(value)

    def _name(self, name: str) -> str:
        if name in self._local:
            return self._numbers.setdefault(name, f"v{len(self._numbers)}")
        return self._helpers.get(name, f"global:{name}")
