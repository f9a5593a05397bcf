"""The store: one database for studies, their events, model calls, solves, uses of instances, cursors and claims.

SQLite in a file by default, PostgreSQL by URL for several machines. It holds everything that cost time or money; large
files that never change (instances, expert samples, reports) lie beside it.
"""

from bife_core.store.claims import (
    PATIENCE_S as PATIENCE_S,
    ClaimLostError as ClaimLostError,
    ClaimTimeoutError as ClaimTimeoutError,
)
from bife_core.store.database import DATABASE as DATABASE, StoreError as StoreError
from bife_core.store.store import Store as Store, StoredEvent as StoredEvent, StudyRow as StudyRow
