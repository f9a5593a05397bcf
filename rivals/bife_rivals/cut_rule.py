"""A written rule that scores cuts, with a branching rule beside it: the lever of STRCMP as a method."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal

import pyscipopt
from pydantic import Field, field_validator

from bife_core.methods.base import RPB, AnyMethod, Method, ScipMethod
from bife_core.plugins import code_revision
from bife_core.rules import CompiledRule, Rejection
from bife_core.rules.compiling import check_source, recompiled
from bife_core.rules.language import FUNCTION_NAME
from bife_core.scip.branching import BranchingStats, Guard
from bife_core.values import digest_of

CUT_FUNCTION: Final = "cut_score"

CUT_FEATURES: Final = (
    *("efficacy", "cutoff_distance", "objective_parallelism", "integer_support", "support", "violation"),
    *("coef_mean", "coef_max", "coef_min", "coef_stddev"),
    *("obj_mean", "obj_max", "obj_min", "obj_stddev"),
    *("forced_parallelism", "in_pool"),
)
"""What a rule may read of a cut, by index; `docs/rivals.md` defines each."""

HYBRID: Final = (
    f"def {CUT_FUNCTION}(cut):\n    return cut[0] + 0.1 * cut[2] + 0.1 * cut[3] + 0.0001 * cut[15]\n"
)
"""The score of SCIP's cut selector `hybrid` at its defaults, without its random number for ties."""


class CutRule(Method):
    """A rule that scores cuts, by its `source`, and what branches; a cut of a negative score is left out.

    Examples
    --------
    >>> rule = CutRule(name="efficacy", source="def cut_score(cut): return cut[0]")
    >>> rule.branching.name
    'relpscost'
    """

    kind: Literal["cut_rule"] = "cut_rule"
    source: str = Field(
        HYBRID, description=f"Text that defines {CUT_FUNCTION}(cut), in the language of rules."
    )
    branching: AnyMethod = ScipMethod(name=RPB)

    @field_validator("source")
    @classmethod
    def _is_allowed(cls, source: str) -> str:
        program = check_source(_as_rule(source))
        if isinstance(program, Rejection):
            raise ValueError(program.reason)
        if unknown := program.features - set(range(len(CUT_FEATURES))):
            raise ValueError(f"a cut has features 0 to {len(CUT_FEATURES) - 1}, not {min(unknown)}")
        return source

    @property
    def identity(self) -> str:
        """Hash of the rule and of what branches."""
        return digest_of([self.kind, self.source, self.branching.identity, code_revision(type(self))])

    @property
    def compiled(self) -> CompiledRule:
        """The rule as it runs."""
        return _compiled(_as_rule(self.source), self.name)

    def attach(self, model: pyscipopt.Model, guard: bool | Guard = False) -> BranchingStats | None:
        """Put rule and branching in charge; the counters are those of the branching."""
        from bife_rivals.cut_selector import include  # here, for it is compiled when it is imported

        stats = self.branching.attach(model, guard)
        rule = self.compiled
        include(model, rule.address, rule)
        return stats


def _as_rule(source: str) -> str:
    """Return a text under the name the language of rules has for its function."""
    names = rf"^def\s+(?:{CUT_FUNCTION}|{FUNCTION_NAME})\s*\("  # models are asked for the name of every rule
    text, count = re.subn(names, f"def {FUNCTION_NAME}(", source, flags=re.MULTILINE)
    if count != 1:
        raise ValueError(f"the source must define {CUT_FUNCTION}(cut) once")
    return text


_compiled = lru_cache(maxsize=64)(recompiled)
