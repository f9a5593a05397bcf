"""Rules by source as methods."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from bife_core.methods.scorer import Scorer
from bife_core.rules.compiling import recompiled, rule_sha
from bife_core.rules.types import CompiledRule
from bife_core.values import digest_of


class RuleMethod(Scorer):
    """A branching rule by its Python `source`; it is checked and compiled where it is used."""

    kind: Literal["rule"] = "rule"
    source: str

    @property
    def identity(self) -> str:
        """The rule's hash, or one of it and its budget; a `RuleError` says if the source is no Python."""
        sha = _sha(self.source)
        return sha if self.budget is None else digest_of([sha, self.budget.model_dump(mode="json")])

    @property
    def text(self) -> str:
        """The source, or JSON of source and budget."""
        return self.source if self.budget is None else super().text

    @property
    def file_name(self) -> str:
        """A Python file where there is no budget."""
        return "rule.py" if self.budget is None else super().file_name

    @property
    def compiled(self) -> CompiledRule:
        """The rule as it runs; a `RuleError` says if the source is no usable rule."""
        return _compiled(self.source, self.name)

    @property
    def features(self) -> frozenset[int]:
        """Columns the rule reads."""
        return self.compiled.features

    @property
    def address(self) -> int:
        """Address of the rule's machine code."""
        return self.compiled.address

    def score(self, X: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Score candidates; see `CompiledRule.score`."""
        return self.compiled.score(X)


_sha = lru_cache(maxsize=1024)(rule_sha)
_compiled = lru_cache(maxsize=64)(recompiled)
