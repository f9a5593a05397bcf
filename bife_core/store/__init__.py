"""The store: one database for studies, their events, model calls, solves, uses of test sets, cursors and claims.

SQLite in a file by default, PostgreSQL by URL for several machines. It holds everything that cost time or money; large
files that never change (instances, expert samples, reports) lie beside it.
"""

from bife_core.store.claims import ClaimTimeoutError
from bife_core.store.database import DATABASE, StoreError
from bife_core.store.store import Store, StoredEvent, StudyRow

__all__ = ["DATABASE", "ClaimTimeoutError", "Store", "StoreError", "StoredEvent", "StudyRow"]
