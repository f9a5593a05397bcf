from .claims import (
    PATIENCE_S as PATIENCE_S,
    ClaimLostError as ClaimLostError,
    ClaimTimeoutError as ClaimTimeoutError,
)
from .schema import DATABASE as DATABASE
from .store import Store as Store, StoredEvent as StoredEvent, StudyRow as StudyRow
