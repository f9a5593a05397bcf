"""A rule from source text to compiled form, or the reason there is none."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol, TypeAlias, get_args, runtime_checkable

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]

RejectionKind = Literal[
    "no_code", "syntax", "signature", "forbidden", "type", "runtime", "timeout", "duplicate"
]
"""What is wrong with a rule.

In this order: nothing to parse; not Python; not the asked function; outside the allowed language; no single
number; raised while scoring; too slow; already known under another text.
"""


@dataclass(frozen=True, slots=True)
class Rule:
    """The source of a branching rule under a name.

    Attributes
    ----------
    name : str
        How people call it.
    source : str
        Python text defining ``candidate_variable_score(variable_features)``.
    sha : str
        Hash of the normalised syntax tree: equal for sources that differ in names, comments or layout only.
    """

    name: str
    source: str
    sha: str


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a source is no usable rule.

    Attributes
    ----------
    kind : str
        One of `RejectionKind`.
    reason : str
        One sentence, with the line where there is one, fit to be shown to a person or to the model that
        wrote it. detail : str Trimmed traceback or compiler message; empty when the reason says it all.
    """

    kind: RejectionKind
    reason: str
    detail: str = ""

    def to_dict(self) -> dict[str, str]:
        """Return the fields as plain JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Rejection:
        """Rebuild a rejection from `to_dict`.

        Raises
        ------
        ValueError
            If the kind is unknown.
        """
        if data["kind"] not in get_args(RejectionKind):
            raise ValueError(f"unknown kind of rejection {data['kind']!r}")
        return cls(data["kind"], data["reason"], data.get("detail", ""))


@dataclass(frozen=True, slots=True)
class Complexity:
    """Size and shape of a rule: the five metrics of the paper's appendix (`bife_core.rules.complexity`)."""

    ast_nodes: int
    operators: int
    nonlinear_calls: int
    branches: int
    intermediate_variables: int

    def to_dict(self) -> dict[str, int]:
        """Return the fields as plain JSON."""
        return asdict(self)


@runtime_checkable
class CompiledRule(Protocol):
    """A checked rule that can score candidates.

    Scores follow IEEE arithmetic as numpy's float64 has it: ``x / 0`` is an infinity or NaN, ``log(0)`` is
    -inf, ``sqrt(-1)`` is NaN; nothing of that raises. Both implementations give the same scores, to
    rounding.
    """

    @property
    def rule(self) -> Rule:
        """Name, source and hash."""
        ...

    @property
    def name(self) -> str:
        """Name of the rule."""
        ...

    @property
    def source(self) -> str:
        """Source text as it was given."""
        ...

    @property
    def sha(self) -> str:
        """Hash of the normalised syntax tree."""
        ...

    @property
    def features(self) -> frozenset[int] | None:
        """Columns the rule reads, or None when some index is computed and all are needed."""
        ...

    @property
    def native(self) -> bool:
        """Whether the rule is machine code."""
        ...

    @property
    def address(self) -> int:
        """Address of the C function ``int64_t score(const double *X, int64_t n, double *out)``.

        `X` is row-major, n x `N_FEATURES`; the function returns 0, or 1 if the rule raised (`out` is then incomplete).
        It stays valid for the life of the process and takes no Python lock. 0 where `native` is false.
        """
        ...

    def score(self, X: FloatArray) -> FloatArray:
        """Score candidates.

        Parameters
        ----------
        X : (n, N_FEATURES) float64
            One row per candidate, in the order of `bife_core.features.FEATURES`. It is not changed.

        Returns
        -------
        (n,) float64
            Scores, higher is better; NaN and infinities are possible.

        Raises
        ------
        RuleError
            If the shape is wrong or the rule raised on a candidate.
        """
        ...


def as_feature_matrix(X: FloatArray) -> FloatArray:
    """Return `X` as a C-contiguous float64 matrix of `N_FEATURES` columns.

    Raises
    ------
    RuleError
        If it has another shape.
    """
    from bife_core.errors import RuleError
    from bife_core.features import N_FEATURES

    matrix = np.ascontiguousarray(X, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[1] != N_FEATURES:
        raise RuleError(
            f"A rule scores a matrix of n x {N_FEATURES} features, not one of shape {np.shape(X)}."
        )
    return matrix
