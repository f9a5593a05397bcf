"""Rules a search is given to begin with, and seeds that are not known yet."""

import pytest

from bife_core.config import SearchConfig
from bife_core.errors import ConfigError
from bife_core.search import open_search
from bife_core.testing import World, drive

RULES = (
    "def candidate_variable_score(x):\n    return x[1]\n",
    "def candidate_variable_score(x):\n    return x[2]\n",
)


def config(method, **known):
    return SearchConfig(method=method, samples=12, initial=4, population=3, **known)


@pytest.mark.parametrize("method", ["bife", "bife_without_f_lf"])
def test_they_are_scored_with_the_initial_ones_and_cost_no_budget(method):
    plain, given = open_search(config(method)), open_search(config(method, first_rules=RULES))
    without, asked = plain.ask(), given.ask()
    assert asked[: len(without)] == without, "the others are what they would be without"
    brought = asked[len(without) :]
    assert tuple(request.source for request in brought) == RULES
    assert len({request.id for request in asked}) == len(asked)
    rounds = drive(open_search(config(method, first_rules=RULES)), World(seed=1))
    own = [
        request for requests in rounds for request in requests if getattr(request, "source", None) in RULES
    ]
    assert len(own) == len(RULES), "they are brought once"
    written = [
        request
        for requests in rounds
        for request in requests
        if request.kind == "sample" and request.source is None
    ]
    assert len(written) == 12


def test_the_rules_are_part_of_what_a_search_is_and_the_wish_for_the_champion_is_not():
    plain = config("bife").in_use()
    assert config("bife", start_from_champion=True).in_use() == plain
    assert config("bife", first_rules=RULES).in_use() == plain | {"first_rules": list(RULES)}


def test_a_search_without_a_seed_does_not_begin():
    with pytest.raises(ConfigError, match=r"search\.seed is null"):
        open_search(config("bife", seed=None))
