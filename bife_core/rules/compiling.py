"""Source in, compiled rule or rejection out. Nothing here runs the rule."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from bife_core.errors import RuleError
from bife_core.rules.cache import cache_directory, read_code, write_code
from bife_core.rules.checked import CheckedRule, check_source
from bife_core.rules.interpreted import InterpretedRule, NotOneNumberError, TooSlowError, cause
from bife_core.rules.lowering import lower
from bife_core.rules.refusal import Refusal
from bife_core.rules.types import CompiledRule, FloatArray, Rejection, Rule, as_feature_matrix

if TYPE_CHECKING:
    from bife_core.rules.native import NativeCode

_TRIAL_S: Final = 10.0
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")


class NativeRule:
    """A rule as machine code (see `bife_core.rules.types.CompiledRule`).

    Parameters
    ----------
    rule : Rule
        The rule.
    features : frozenset of int or None
        Columns it reads.
    code : NativeCode
        Its machine code.
    """

    native = True

    def __init__(self, rule: Rule, features: frozenset[int] | None, code: NativeCode) -> None:
        self.rule = rule
        self.features = features
        self._code = code
        self.address: int = code.address

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
        return f"NativeRule({self.name!r})"

    def score(self, X: FloatArray) -> FloatArray:
        """Score candidates in this process, without a time limit; see `CompiledRule.score`.

        Raises
        ------
        RuleError
            If the shape is wrong or the rule raised on a candidate.
        """
        matrix = as_feature_matrix(X)
        scores = np.empty(len(matrix))
        if not self._code.run(matrix, scores):
            rows = (matrix[i : i + 1] for i in range(len(matrix)))
            failed = (i for i, row in enumerate(rows) if not self._code.run(row, scores[i : i + 1]))
            row = next(failed, None)
            if row is None:
                raise RuleError(f"The rule {self.name!r} failed for want of memory.")
            what = "an index out of range, or NaN, an infinity or an empty list where a number was needed"
            raise RuleError(
                f"The rule {self.name!r} failed on candidate {row} ({cause(self.source, matrix[row]) or what})."
            )
        return scores


def compile_rule(
    source: str | bytes, *, name: str | None = None, cache_dir: Path | None = None
) -> CompiledRule | Rejection:
    """Check a rule and compile it to machine code, or prepare it for interpretation where numba cannot.

    No code of the rule runs in this process. A rule numba cannot compile is tried on three candidates in a
    worker process, to see that it gives numbers.

    Parameters
    ----------
    source : str or bytes
        Python text of one rule (`docs/rules.md` says what it may contain).
    name : str or None
        Name of the rule; None derives one from its hash.
    cache_dir : Path or None
        Directory of compiled rules shared between processes; None takes the one named by the environment
        variable ``BIFE_RULE_CACHE``, if any.

    Returns
    -------
    CompiledRule or Rejection
        The rule, ready to score, or why it is refused.

    Examples
    --------
    >>> rule = compile_rule("def candidate_variable_score(f): return f[20] * f[21]")
    >>> sorted(rule.features)
    [20, 21]
    >>> compile_rule("def candidate_variable_score(f): return open('x')").reason
    'Line 1: open is not among the functions a rule may use.'
    """
    checked = check_source(source)
    if isinstance(checked, Rejection):
        return checked
    text = source if isinstance(source, str) else source.decode("utf-8-sig")
    rule = Rule(name if name is not None else f"rule_{checked.sha[:8]}", text, checked.sha)
    if checked.unassigned is not None:
        why = f"The name {checked.unassigned!r} may be read before it is assigned."
        return _interpreted(rule, checked, why)
    # numba takes a third of a second to import; whoever only checks or interprets rules need not wait for it.
    from bife_core.rules.native import NotNumber

    try:
        code = _native_code(checked, cache_directory(cache_dir))
    except Refusal as refusal:
        return refusal.rejection
    except NotNumber as found:
        return Rejection("type", f"The function returns {found}; a score must be one number.")
    except Exception as error:  # noqa: BLE001 - numba raises many types; each means "cannot compile this"
        return _interpreted(rule, checked, f"numba cannot compile it: {_explanation(error)}")
    return NativeRule(rule, checked.features, code)


def interpret_rule(source: str | bytes, *, name: str | None = None) -> CompiledRule | Rejection:
    """Prepare a rule for interpretation even if numba could compile it, as a reference to compare with."""
    checked = check_source(source)
    if isinstance(checked, Rejection):
        return checked
    text = source if isinstance(source, str) else source.decode("utf-8-sig")
    rule = Rule(name if name is not None else f"rule_{checked.sha[:8]}", text, checked.sha)
    return _interpreted(rule, checked, "Interpretation was asked for.")


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


def _native_code(checked: CheckedRule, cache: Path | None) -> NativeCode:
    from bife_core.rules.native import compile_native, load_native, loaded, target_key

    known = loaded(checked.sha)
    if known is not None:
        return known
    stored = read_code(cache, checked.sha, target_key()) if cache is not None else None
    code = load_native(checked.sha, stored) if stored is not None else None
    if code is None:
        code = compile_native(lower(checked.functions), checked.sha)
        if cache is not None:
            write_code(cache, checked.sha, target_key(), code.stored())
    return code


def _interpreted(rule: Rule, checked: CheckedRule, why: str) -> CompiledRule | Rejection:
    try:
        lower(checked.functions)
    except Refusal as refusal:
        return refusal.rejection
    trial = InterpretedRule(rule, checked.features, why, limit_s=_TRIAL_S)
    for value in (0.0, 1.0, 0.37):
        try:
            trial.score(np.full((1, 72), value))
        except NotOneNumberError as error:
            return Rejection("type", str(error))
        except TooSlowError:
            return Rejection("timeout", f"The rule did not score one candidate within {_TRIAL_S:g} s.")
        except RuleError:
            continue  # it may well work on real candidates; if not, scoring says so
    return InterpretedRule(rule, checked.features, why)


def _explanation(error: Exception) -> str:
    lines = (_COLOUR.sub("", line).strip() for line in str(error).splitlines())
    telling = [line for line in lines if line and not line.startswith("Failed in nopython mode")]
    return " ".join(telling[:2])[:300] or type(error).__name__
