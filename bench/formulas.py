"""Formulas fitted to decisions, for the scripts that judge them by decisions of other models."""

from __future__ import annotations

import numpy as np

from bife_core.decisions.recorded import Decisions
from bife_core.generators.offline.expression import Node
from bife_core.search.types import Fit
from bife_core.symbolic.columns import Columns
from bife_core.symbolic.drafting import fit_rules
from bife_core.symbolic.fitting import Fitter


def best_formula(decisions: Decisions, fit: Fit, rng: np.random.Generator) -> Node:
    """Return the likeliest formula for its size, of those selected and those bred."""
    fitter = Fitter(Columns(decisions))
    made = [*fitter.select(fit.terms), *fit_rules(fitter, fit, rng)]
    return min(made, key=lambda fitted: fitted.information).root
