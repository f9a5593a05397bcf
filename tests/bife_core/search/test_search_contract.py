"""What every registered search is held to, and that the check finds a search that breaks it."""

import pytest

from bife_core.base.errors import ConfigError
from bife_core.extend.testing import World, check_search, drive
from bife_core.run.config import SearchConfig
from bife_core.search import SEARCHES, BifeSearch, SampleRequest, open_search

OWN = sorted(set(SEARCHES) - set(SEARCHES.foreign))


@pytest.mark.parametrize("method", OWN)
def test_it_keeps_to_the_contract(method):
    check_search(method)


@pytest.mark.parametrize("method", ["bife", "bife_without_f_lf"])
def test_first_rules_are_scored_with_the_initial_ones_and_use_up_no_budget(method):
    rules = tuple(f"def candidate_variable_score(x):\n    return x[{number}]\n" for number in (1, 2))
    plain = SearchConfig(algorithm=method, samples=12, initial=4, population=3)
    config = plain.model_copy(update={"first_rules": rules})
    without, asked = open_search(plain).ask(), open_search(config).ask()
    assert asked[: len(without)] == without, "the others are what they would be without"
    requests = [one for each in drive(open_search(config), World(seed=1)) for one in each]
    sources = [one.source for one in requests if isinstance(one, SampleRequest)]
    assert [source for source in sources if source] == list(rules), "each once"
    assert sources.count(None) == 12


def test_a_search_without_a_seed_does_not_begin():
    with pytest.raises(ConfigError, match=r"search\.seed is null"):
        open_search(SearchConfig(seed=None))


def test_options_of_a_search_that_has_none_are_refused():
    with pytest.raises(ConfigError, match=r"search\.options of the search 'bife': .*mutation_rate"):
        open_search(SearchConfig(options={"mutation_rate": 1.0}))


class Greedy(BifeSearch):
    def remaining(self):
        return super().remaining() + 1


class Fickle(BifeSearch):
    def ask(self):
        self._pending = ()
        return super().ask()


class Forgetful(BifeSearch):
    def end_generation(self):
        super().end_generation()
        self.summaries = self.summaries[:1]


class Seedless(BifeSearch):
    def propose(self):
        return tuple(request.model_copy(update={"seed": 1}) for request in super().propose())


@pytest.mark.parametrize(
    ("search", "why"),
    [
        (Greedy, "21 samples were asked for, not 20"),
        (Fickle, r"gives other requests|used twice|Expected"),
        (Forgetful, "do not count every sample"),
        (Seedless, "not that of its id"),
    ],
)
def test_the_check_finds_what_breaks_the_contract(search, why, monkeypatch):
    monkeypatch.setitem(SEARCHES, "broken", search)
    with pytest.raises((AssertionError, ValueError, KeyError), match=why):
        check_search("broken")
