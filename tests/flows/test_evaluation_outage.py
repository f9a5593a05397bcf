"""What an evaluation asks for, and when."""

import pytest

from bife_core.config import PipelineConfig
from flows.evaluation import evaluation
from tasks.tracking.store import TrackingError


def test_mlflow_is_asked_for_the_search_behind_a_rule_before_anything_is_solved(monkeypatch):
    def away(_: str) -> None:
        raise TrackingError("MLflow is away.")

    monkeypatch.setattr("flows.evaluation.search_behind", away)
    monkeypatch.setattr("flows.evaluation.prepare_instances", lambda *_: pytest.fail("too early"))
    with pytest.raises(TrackingError, match="away"):
        evaluation.fn(PipelineConfig(), "paper_ca")
