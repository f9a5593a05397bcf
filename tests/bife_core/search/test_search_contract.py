"""What every registered search is held to, and that the check finds a search that breaks it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bife_core.config import SearchConfig
from bife_core.errors import ConfigError
from bife_core.search import SEARCHES, BifeSearch, GenerationSummary, Request, SampleRequest, open_search
from bife_core.testing import check_search

OWN = sorted(set(SEARCHES) - set(SEARCHES.foreign))


@pytest.mark.parametrize("method", OWN)
def test_it_keeps_to_the_contract(method: str) -> None:
    check_search(method)


@pytest.mark.parametrize("method", OWN)
def test_its_settings_in_use_leave_out_those_of_others(method: str) -> None:
    used = SearchConfig(method=method).in_use()
    assert used["method"] == method
    assert ("symbolic" in used) == (method == "symbolic")
    assert "options" not in used


def test_options_of_a_search_that_has_none_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"search\.options of the search 'bife': .*mutation_rate"):
        open_search(SearchConfig(options={"mutation_rate": 1.0}))


class Greedy(BifeSearch):
    def remaining(self) -> int:
        return super().remaining() + 1


class Fickle(BifeSearch):
    def ask(self) -> tuple[Request, ...]:
        self._pending = ()
        return super().ask()


class Forgetful(BifeSearch):
    @property
    def summaries(self) -> tuple[GenerationSummary, ...]:
        return super().summaries[1:]


class Seedless(BifeSearch):
    def propose(self) -> tuple[Request, ...]:
        return tuple(
            request.model_copy(update={"seed": 1}) if isinstance(request, SampleRequest) else request
            for request in super().propose()
        )


@pytest.mark.parametrize(
    ("search", "why"),
    [
        (Greedy, "21 samples were asked for, not 20"),
        (Fickle, r"gives other requests|used twice|Expected"),
        (Forgetful, "do not count every sample"),
        (Seedless, "not that of its id"),
    ],
)
def test_the_check_finds_what_breaks_the_contract(
    search: Callable[[SearchConfig], BifeSearch], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SEARCHES, "broken", search)
    with pytest.raises((AssertionError, ValueError, KeyError), match=why):
        check_search("broken")
