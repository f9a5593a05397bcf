"""A trained network as MLflow keeps it: the JSON of the method, and this code; nothing is pickled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import numpy.typing as npt
from mlflow.pyfunc.model import PythonModel, PythonModelContext

from bife_core.solver.methods.loading import method_of
from bife_core.solver.scip.node import Node
from bife_rivals.networks import NetworkMethod


class LoggedNetwork(PythonModel):
    """Scores the candidates of a node."""

    def load_context(self, context: PythonModelContext) -> None:
        """Read the method."""
        self.method = method_of(Path(context.artifacts["method"]).read_text(encoding="utf-8"))

    # MLflow reads the hint of `model_input` as a schema; the signature has it.
    def predict(
        self, context: PythonModelContext, model_input: Any, params: dict[str, Any] | None = None
    ) -> npt.NDArray[np.float64]:
        """Return one score per candidate; the input has the arrays of a node by name."""
        assert isinstance(self.method, NetworkMethod)
        return self.method.score(Node(**model_input, first=True, depth=0))


mlflow.models.set_model(LoggedNetwork())
