"""Rules numba cannot compile: CPython runs them, in a worker process that can be killed."""

from __future__ import annotations

import ast
import base64
import copy
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Final

import numpy as np

from bife_core.errors import RuleError
from bife_core.features import N_FEATURES
from bife_core.rules.checked import CheckedRule, check_source
from bife_core.rules.language import FUNCTION_NAME, RESERVED_PREFIX
from bife_core.rules.lowering import lower
from bife_core.rules.semantics import OPERATORS, namespace
from bife_core.rules.types import FloatArray, Rejection, Rule, as_feature_matrix
from bife_core.sandbox import WorkerFailure, WorkerPool, in_worker

SCORE_LIMIT_S: Final = 60.0
"""Wall seconds the worker gets for one call of `InterpretedRule.score`."""

_CALL: Final = "bife_core.rules.interpreted:score_rows"
_MEMORY_MB: Final = 2048.0
_CAUSE_LIMIT_S: Final = 1.0
_FILE_NAME: Final = "<rule>"
_LONGEST_MESSAGE: Final = 200


class NotOneNumberError(RuleError):
    """The rule gave something else than a number."""


class TooSlowError(RuleError):
    """The rule overran its limit."""


_pool: WorkerPool | None = None
_pool_lock = threading.Lock()


class InterpretedRule:
    """A rule that Python runs, candidate by candidate (see `bife_core.rules.types.CompiledRule`).

    In a process that is itself a worker the rule runs in place, because that process may be killed anyway;
    in any other process it runs in a worker of its own.

    Parameters
    ----------
    rule : Rule
        The rule.
    features : frozenset of int or None
        Columns it reads.
    why : str
        Why it is not compiled, as one sentence.
    limit_s : float
        Wall seconds one call of `score` may take in the worker.
    """

    native = False
    address = 0

    def __init__(
        self, rule: Rule, features: frozenset[int] | None, why: str, limit_s: float = SCORE_LIMIT_S
    ) -> None:
        self.rule = rule
        self.features = features
        self.why = why
        self.limit_s = limit_s

    @property
    def name(self) -> str:
        """Name of the rule."""
        return self.rule.name

    @property
    def source(self) -> str:
        """Source text as it was given."""
        return self.rule.source

    @property
    def sha(self) -> str:
        """Hash of the normalised syntax tree."""
        return self.rule.sha

    def __repr__(self) -> str:
        return f"InterpretedRule({self.name!r})"

    def score(self, X: FloatArray) -> FloatArray:
        """Score candidates; see `bife_core.rules.types.CompiledRule.score`.

        Raises
        ------
        RuleError
            If the shape is wrong, the rule raised on a candidate, gave no number, or took too long.
        """
        matrix = as_feature_matrix(X)
        if len(matrix) == 0:
            return np.empty(0)
        if in_worker():
            return _score(self.source, matrix)
        columns = None if self.features is None else sorted(self.features)
        arguments = {
            "source": self.source,
            "columns": columns,
            "rows": len(matrix),
            "data": _pack(matrix if columns is None else matrix[:, columns]),
        }
        try:
            answer = _worker().submit(_CALL, arguments, limit_s=self.limit_s, memory_mb=_MEMORY_MB).result()
        except WorkerFailure as failure:
            if failure.kind == "timeout":
                reason = (
                    f"The rule {self.name!r} took more than {self.limit_s:g} s for {len(matrix)} candidates."
                )
                raise TooSlowError(reason) from failure
            known = NotOneNumberError if failure.error_type == NotOneNumberError.__name__ else RuleError
            raise known(failure.reason) from failure
        return _unpack(answer["scores"])


def score_rows(source: str, columns: list[int] | None, rows: int, data: str) -> dict[str, str]:
    """Score packed candidates; the call a worker serves.

    Parameters
    ----------
    source : str
        Source of the rule; it is checked again here.
    columns : list of int or None
        Which feature columns `data` holds; None means all. The others are NaN, the rule does not read them.
    rows : int
        Number of candidates.
    data : str
        Base64 of the float64 values, row by row.

    Returns
    -------
    dict
        ``{"scores": base64 of the float64 scores}``.

    Raises
    ------
    RuleError
        If the rule is refused, raises on a candidate, or gives no number.
    """
    if columns is None:
        matrix = _unpack(data).reshape(rows, N_FEATURES)
    else:
        matrix = np.full((rows, N_FEATURES), np.nan)
        matrix[:, columns] = _unpack(data).reshape(rows, len(columns))
    return {"scores": _pack(_score(source, matrix))}


def _score(source: str, matrix: FloatArray) -> FloatArray:
    function = _function(source)
    scores = np.empty(len(matrix))
    with np.errstate(all="ignore"):
        for i, row in enumerate(matrix):
            row.flags.writeable = False
            try:
                score = function(row)
            except Exception as error:
                raise RuleError(f"The rule failed on candidate {i} ({_described(error)}).") from error
            if not isinstance(score, bool | int | float | np.bool_ | np.integer | np.floating):
                found = type(score).__name__
                raise NotOneNumberError(f"The function returns {found}; a score must be one number.")
            scores[i] = float(score)
    return scores


def cause(source: str, row: FloatArray) -> str | None:
    """Return what a compiled rule raises on a candidate, and on which line; compiled code does not tell.

    Only in a worker, and only within a second: the rule is run again, by Python.

    Parameters
    ----------
    source : str
        Source of the rule.
    row : (72,) float64
        Features of the candidate.
    """
    if not in_worker() or threading.current_thread() is not threading.main_thread():
        return None
    try:
        with _stopped_after(_CAUSE_LIMIT_S), np.errstate(all="ignore"):
            _function(source)(row)
    except Exception as error:  # noqa: BLE001 - what is raised is the answer
        return None if isinstance(error, _StoppedError) else _described(error)
    return None


class _StoppedError(Exception):
    """The time for finding a cause is over."""


@contextmanager
def _stopped_after(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise _StoppedError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _described(error: Exception) -> str:
    """Return an exception of a rule in a few words, with the rule's line where there is one."""
    lines = [
        frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == _FILE_NAME
    ]
    message = " ".join(str(error).split())[:_LONGEST_MESSAGE]
    what = f"{type(error).__name__}: {message}" if message else type(error).__name__
    return f"line {lines[-1]}, {what}" if lines else what


@lru_cache(maxsize=64)
def _function(source: str) -> Callable[[FloatArray], Any]:
    checked = check_source(source)
    if isinstance(checked, Rejection):
        raise RuleError(checked.reason)
    return python_function(checked)


def python_function(checked: CheckedRule) -> Callable[[FloatArray], Any]:
    """Return a checked rule as a Python function with the arithmetic of `bife_core.rules.semantics`.

    Calling it runs the rule's code: do so in a worker only.
    """
    body = [_Operators().visit(function) for function in lower(checked.functions)]
    module = ast.fix_missing_locations(ast.Module(body=copy.copy(body), type_ignores=[]))
    scope = namespace()
    exec(compile(module, _FILE_NAME, "exec"), scope)  # defines functions of checked source only
    return scope[FUNCTION_NAME]  # type: ignore[no-any-return]


class _Operators(ast.NodeTransformer):
    """Turns operators into calls, so that Python's integers and booleans never meet its own arithmetic."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        kind = type(node.op).__name__
        if kind == "Pow" and isinstance(node.right, ast.Constant) and isinstance(node.right.value, int):
            kind = "WholePow"
        return _operation(kind, [node.left, node.right], node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        kind = type(node.op).__name__
        return node if kind == "Not" else _operation(kind, [node.operand], node)


def _operation(kind: str, operands: list[ast.expr], where: ast.expr) -> ast.expr:
    name = ast.copy_location(ast.Name(id=RESERVED_PREFIX + OPERATORS[kind].__name__, ctx=ast.Load()), where)
    return ast.copy_location(ast.Call(func=name, args=operands, keywords=[]), where)


def _pack(values: FloatArray) -> str:
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode("ascii")


def _unpack(text: str) -> FloatArray:
    return np.frombuffer(base64.b64decode(text), dtype=np.float64).copy()


def _worker() -> WorkerPool:
    global _pool
    with _pool_lock:
        if _pool is None:
            _pool = WorkerPool(1, pin=False)
        return _pool
