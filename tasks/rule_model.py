"""The registered form of a rule: MLflow copies this file beside ``rule.py`` and runs it on loading.

Nothing is unpickled. The rule's text passes the same checks as any other rule before it is compiled, and its
hash must be the one it was registered with.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import numpy.typing as npt
from mlflow.pyfunc.model import PythonModel, PythonModelContext

from bife_core.errors import RuleError
from bife_core.rules import CompiledRule, Rejection, compile_rule


class BranchingRule(PythonModel):
    """Scores candidates: (n, N_FEATURES) float64 in, (n,) float64 out, higher is better.

    Attributes
    ----------
    rule : CompiledRule
        For use without MLflow in between: ``mlflow.pyfunc.load_model(uri).unwrap_python_model().rule``.
    """

    rule: CompiledRule

    def load_context(self, context: PythonModelContext) -> None:
        """Check and compile the rule.

        Raises
        ------
        RuleError
            If the text is no usable rule, or not the one that was registered.
        """
        compiled = compile_rule(Path(context.artifacts["rule"]).read_text(encoding="utf-8"))
        if isinstance(compiled, Rejection):
            raise RuleError(f"The registered rule cannot be used: {compiled.reason}")
        expected = context.model_config["sha"]
        if compiled.sha != expected:
            raise RuleError(
                f"The rule's hash is {compiled.sha}, registered was {expected}: it has been altered."
            )
        self.rule = compiled

    # MLflow reads the hint of `model_input`, and knows the plain class only.
    def predict(
        self,
        context: PythonModelContext,
        model_input: np.ndarray,
        params: dict[str, Any] | None = None,
    ) -> npt.NDArray[np.float64]:
        """Return one score per row."""
        return self.rule.score(np.ascontiguousarray(model_input, dtype=np.float64))


mlflow.models.set_model(BranchingRule())
