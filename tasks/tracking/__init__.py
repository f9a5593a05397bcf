"""What is written to MLflow, and how it is found again."""

from tasks.tracking.folders import (
    GONE,
    Delivery,
    Waiting,
    bring_home,
    deliver,
    deliver_waiting,
    under_way,
)
from tasks.tracking.projection import Projection, mark_interrupted
from tasks.tracking.store import (
    COLLECTION,
    EVALUATION,
    EVOLUTION,
    TrackingError,
    experiment_id,
    require_store,
    run_url,
    tracking_uri,
)
from tasks.tracking.views import experiment_url, save_lists

__all__ = [
    "COLLECTION",
    "EVALUATION",
    "EVOLUTION",
    "GONE",
    "Delivery",
    "Projection",
    "TrackingError",
    "Waiting",
    "bring_home",
    "deliver",
    "deliver_waiting",
    "experiment_id",
    "experiment_url",
    "mark_interrupted",
    "require_store",
    "run_url",
    "save_lists",
    "tracking_uri",
    "under_way",
]
