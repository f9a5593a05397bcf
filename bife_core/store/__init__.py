"""The store: one database, SQLite or PostgreSQL, of everything that cost time or money but large files."""

from bife_core.store.claims import (
    PATIENCE_S as PATIENCE_S,
    ClaimLostError as ClaimLostError,
    ClaimTimeoutError as ClaimTimeoutError,
)
from bife_core.store.database import DATABASE as DATABASE, StoreError as StoreError
from bife_core.store.store import Store as Store, StoredEvent as StoredEvent, StudyRow as StudyRow
