"""A trained network as MLflow keeps it: the JSON of the method, and this code; nothing is pickled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import numpy.typing as npt
from mlflow.pyfunc.model import PythonModel, PythonModelContext

from bife_core import load_method
from bife_core.extend import Node
from bife_rivals.networks import NetworkMethod


class LoggedNetwork(PythonModel):
    """Scores the candidates of a node."""

    def load_context(self, context: PythonModelContext) -> None:
        """Read the method."""
        self.method = load_method(Path(context.artifacts["method"]))

    # MLflow reads the hint of `model_input` as a schema; the signature has it.
    def predict(
        self, context: PythonModelContext, model_input: Any, params: dict[str, Any] | None = None
    ) -> npt.NDArray[np.float64]:
        """Return one score per candidate; the input has the arrays of a node by name."""
        assert isinstance(self.method, NetworkMethod)
        return self.method.score(Node(**model_input, first=True, depth=0))


mlflow.models.set_model(LoggedNetwork())
