"""The registered form of a method: MLflow copies this file beside its text and runs it on loading; no pickle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import numpy.typing as npt
from mlflow.exceptions import MlflowException
from mlflow.pyfunc.model import PythonModel, PythonModelContext

from bife_core.solver.methods.base import Method
from bife_core.solver.methods.references import method_of, unaltered
from bife_core.solver.methods.scorer import Scorer


class BranchingRule(PythonModel):
    """Scores candidates: (n, n_features) float64 in, (n,) float64 out, higher is better.

    ``mlflow.pyfunc.load_model(uri).unwrap_python_model().rule`` is the method itself, which may score no candidates.
    """

    rule: Method

    def load_context(self, context: PythonModelContext) -> None:
        """Read, check and compile the method, or raise `RuleError` if it is not the one that was registered."""
        text = Path(context.artifacts["rule"]).read_text(encoding="utf-8")
        method = method_of(unaltered(text, {"sha": context.model_config["sha"]}, "The rule"))
        if isinstance(method, Scorer):
            method.address  # noqa: B018 - a rule that does not compile is refused at once
        self.rule = method

    # MLflow reads the hint of `model_input`, and knows the plain class only.
    def predict(
        self, context: PythonModelContext, model_input: np.ndarray, params: dict[str, Any] | None = None
    ) -> npt.NDArray[np.float64]:
        """Return one score per row; an `MlflowException`, which servers pass on, says if the method gives none."""
        if not isinstance(self.rule, Scorer):
            raise MlflowException.invalid_parameter_value("This version scores no candidates; see its card.")
        return self.rule.score(np.ascontiguousarray(model_input, dtype=np.float64))


mlflow.models.set_model(BranchingRule())
