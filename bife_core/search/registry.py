"""The searches BiFE knows, by name: one line adds one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from bife_core.config import SearchConfig
from bife_core.errors import ConfigError
from bife_core.search.bife import BifeSearch
from bife_core.search.eoh import EohSearch
from bife_core.search.high_only import HighOnlySearch
from bife_core.search.llm4branch import Llm4BranchSearch
from bife_core.search.reevo import ReevoSearch
from bife_core.search.summary import ReportingSearch

SEARCHES: Final[dict[str, Callable[[SearchConfig], ReportingSearch]]] = {
    "bife": BifeSearch,
    "bife_without_f_lf": HighOnlySearch,
    "eoh": EohSearch,
    "reevo": ReevoSearch,
    "llm4branch": Llm4BranchSearch,
}
"""Name of a search (`SearchConfig.method`) -> how it is made from its configuration."""


def open_search(config: SearchConfig) -> ReportingSearch:
    """Return a new search of the configured method.

    Raises
    ------
    ConfigError
        If no search has that name.
    """
    if config.method not in SEARCHES:
        known = ", ".join(sorted(SEARCHES))
        raise ConfigError(f"There is no search {config.method!r}; choose one of {known}.")
    return SEARCHES[config.method](config)
