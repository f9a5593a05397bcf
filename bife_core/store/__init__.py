"""The store: one database, SQLite or PostgreSQL, of everything that cost time or money but large files."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
