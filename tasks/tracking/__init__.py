"""MLflow as a subscriber of the store."""

from tasks.tracking.evolutions import EvolutionRun, mark_interrupted
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
from tasks.tracking.subscriber import (
    GONE,
    Synchronised,
    Waiting,
    synchronise,
    synchronise_waiting,
    track,
    under_way,
)
from tasks.tracking.views import experiment_url, save_lists

__all__ = [
    "COLLECTION",
    "EVALUATION",
    "EVOLUTION",
    "GONE",
    "EvolutionRun",
    "Synchronised",
    "TrackingError",
    "Waiting",
    "experiment_id",
    "experiment_url",
    "mark_interrupted",
    "require_store",
    "run_url",
    "save_lists",
    "synchronise",
    "synchronise_waiting",
    "track",
    "tracking_uri",
    "under_way",
]
