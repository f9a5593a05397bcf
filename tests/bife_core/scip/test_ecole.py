"""Ecole is optional: parity where it imports, a sentence where it does not."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pyscipopt
import pytest

from bife_core import FeatureExtractor
from bife_core.errors import ConfigError
from bife_core.features import N_FEATURES
from bife_core.scip.ecole import SLIPS, EcoleExtractor
from bife_core.scip.reading import read_model
from bife_core.scip.solving import SolveSettings, apply


class Compare(pyscipopt.Branchrule):  # type: ignore[misc]
    """Takes the features twice at each of the first branchings."""

    def __init__(self) -> None:
        self.pairs: list[tuple[np.ndarray, np.ndarray]] = []
        self.ours: FeatureExtractor | None = None

    def branchexeclp(self, allowaddcons: bool) -> dict[str, int]:
        if self.ours is None:
            self.ours, self.theirs = FeatureExtractor(self.model), EcoleExtractor(self.model)
        self.pairs.append((self.ours.extract()[1], self.theirs.extract()[1]))
        if len(self.pairs) >= 6:
            self.model.interruptSolve()
        return {"result": pyscipopt.SCIP_RESULT.DIDNOTRUN}


def test_ecole_and_we_agree_where_both_follow_the_definition(golden_dir: Path) -> None:
    model = read_model(golden_dir / "cauctions_0.mps.gz")
    if importlib.util.find_spec("ecole") is None:
        with pytest.raises(ConfigError, match="Ecole cannot be imported"):
            EcoleExtractor(model)
        return
    # Ecole also walks rows that have left the LP, so none may leave it.
    apply(SolveSettings(params={"separating/maxroundsroot": 0}), model)
    rule = Compare()
    model.includeBranchrule(rule, "compare", "", 10_000_000, -1, 1.0)
    model.optimize()
    columns = sorted(set(range(N_FEATURES)) - SLIPS)
    assert rule.pairs
    for ours, theirs in rule.pairs:
        np.testing.assert_allclose(ours[:, columns], theirs[:, columns], rtol=1e-9, atol=1e-12)
