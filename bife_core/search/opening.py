"""The one door to all searches."""

from __future__ import annotations

from bife_core.search.config import SEARCHES, SearchConfig
from bife_core.search.summary import ReportingSearch


def open_search(config: SearchConfig) -> ReportingSearch:
    """Return a new search of the configured method.

    Raises
    ------
    ConfigError
        If no search has that name, or the package that offers it is broken.
    """
    search: ReportingSearch = SEARCHES.find(config.method)(config)
    return search
