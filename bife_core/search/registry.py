"""The searches BiFE knows, by name: one line adds one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from bife_core.config import SearchConfig
from bife_core.errors import ConfigError
from bife_core.search.bife import BifeSearch
from bife_core.search.summary import ReportingSearch

SEARCHES: Final[dict[str, Callable[[SearchConfig], ReportingSearch]]] = {"bife": BifeSearch}
"""Name of a search -> how it is made from its configuration."""


def open_search(config: SearchConfig, name: str = "bife") -> ReportingSearch:
    """Return a new search.

    Raises
    ------
    ConfigError
        If no search has that name.
    """
    if name not in SEARCHES:
        raise ConfigError(f"There is no search {name!r}; choose one of {', '.join(sorted(SEARCHES))}.")
    return SEARCHES[name](config)
