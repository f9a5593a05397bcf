"""What is written to MLflow, and how it is found again."""

from tasks.tracking.spool import deliver_waiting
from tasks.tracking.store import (
    COLLECTION,
    EVALUATION,
    EVOLUTION,
    TrackingError,
    experiment_id,
    experiment_url,
    ranking_url,
    require_store,
    run_url,
    tracking_uri,
)

__all__ = [
    "COLLECTION",
    "EVALUATION",
    "EVOLUTION",
    "TrackingError",
    "deliver_waiting",
    "experiment_id",
    "experiment_url",
    "ranking_url",
    "require_store",
    "run_url",
    "tracking_uri",
]
