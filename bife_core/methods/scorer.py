"""Methods that score candidates by their features; SCIP branches on the candidate of the highest score."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import numpy.typing as npt
import pyscipopt
from pydantic import Field

from bife_core.methods.base import Method
from bife_core.plugins import code_revision
from bife_core.scip.branching import BranchingStats, Budget, Guard, attach_scorer
from bife_core.values import digest_of


class Scorer(Method):
    """Base of such methods: write `score`, and give `kind` a default.

    `score` is called from Python at every branching. A scorer that has machine code gives its `address`, and one that
    reads some features only names them in `features`, so that the others are not computed.
    """

    budget: Budget | None = Field(None, description="What RPB may strong-branch before the scorer branches.")

    @property
    def identity(self) -> str:
        """Hash of all fields but the name, and of a plugin's code."""
        left_out = {"name"} if self.budget is not None else {"name", "budget"}
        return digest_of([self.model_dump(mode="json", exclude=left_out), code_revision(type(self))])

    @property
    def features(self) -> frozenset[int] | None:
        """Columns it reads; None reads all."""
        return None

    @property
    def address(self) -> int:
        """Address of the C function ``int64_t score(const double *X, int64_t n, double *out)``, or 0 for none.

        `X` is row-major, n x `N_FEATURES`. The function returns 0, or 1 if it failed, must need no Python lock,
        and must be valid for as long as the scorer is referred to.
        """
        return 0

    @abstractmethod
    def score(self, X: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return a score per candidate, higher is better; where none is a number SCIP's next branching rule takes over.

        `X` has a row per candidate, in the order of `bife_core.features.FEATURES`; columns that `features` leaves out
        are 0.
        """

    def attach(self, model: pyscipopt.Model, guard: bool | Guard = False) -> BranchingStats:
        """Let the scorer choose whenever an LP solution is branched on; see `bife_core.attach`."""
        return attach_scorer(model, self, guard, self.budget)
