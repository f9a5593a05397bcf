"""What is written to MLflow, and how it is found again."""

from tasks.tracking.store import (
    COLLECTION,
    EVALUATION,
    EVOLUTION,
    TrackingError,
    experiment_id,
    ranking_url,
    run_url,
    tracking_uri,
)

__all__ = [
    "COLLECTION",
    "EVALUATION",
    "EVOLUTION",
    "TrackingError",
    "experiment_id",
    "ranking_url",
    "run_url",
    "tracking_uri",
]
