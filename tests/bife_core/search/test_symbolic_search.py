"""Niches: which rules found the elite, what a rule must reach, whose children it has."""

from bife_core.run.config import SearchConfig
from bife_core.search import SampleRequest, SolveRequest
from bife_core.search.symbolic.search import SymbolicSearch
from tests.support.searching import answered, sample, solve

BROUGHT = "def candidate_variable_score(f):\n    return f[18]\n"


def founded():
    """Return a search of two niches that has its elite: the first agrees, the second solves."""
    sizes = {"samples": 20, "initial": 8, "population": 4, "elite_fraction": 0.5, "options": {"niches": 2}}
    search = SymbolicSearch(SearchConfig(algorithm="symbolic", **sizes))
    asked = [request for request in search.ask() if isinstance(request, SampleRequest)]
    agrees = {0: 0.5, 1: 0.3}
    niches = [request.training["niche"] for request in asked if request.training]
    assert sorted(niches) == [0] * 4 + [1] * 4
    agreeing = [agrees[niche] + place / 1000 for place, niche in enumerate(niches)]
    answered(search, *(sample(request.id, f_lf) for request, f_lf in zip(asked, agreeing, strict=True)))
    solves = [request for request in search.ask() if isinstance(request, SolveRequest)]
    assert [request.sample.niche for request in solves] == [0, 1], "the best of each, not of all"
    answered(search, solve(solves[0].id, -2.0), solve(solves[1].id, -1.0))
    return search


def test_a_rule_is_solved_with_where_it_reaches_the_tau_of_its_niche():
    search = founded()
    best, worst = search.elites
    assert (best.niche, worst.niche) == (1, 0)
    assert search.tau == best.f_lf
    asked = [request for request in search.ask() if isinstance(request, SampleRequest)]
    answered(search, *(sample(request.id, 0.4) for request in asked))
    earned = {request.id for request in search.ask() if isinstance(request, SolveRequest)}
    assert earned == {request.id for request in asked if request.training and request.training["niche"] == 1}
    assert worst.f_lf > 0.4


def test_a_child_is_of_the_niche_of_its_better_parent():
    search = founded()
    ranks = {rule.id: rank for rank, rule in enumerate(search.population)}
    niches = set()
    for request in search.ask():
        better, worse = request.parents
        assert ranks[better.id] < ranks[worse.id]
        assert request.training["niche"] == better.niche
        niches.add(better.niche)
    assert 1 in niches


def test_one_of_each_niche_founds_the_elite_and_so_does_the_first_rules():
    sizes = {"samples": 8, "initial": 8, "population": 2}
    search = SymbolicSearch(SearchConfig(algorithm="symbolic", first_rules=(BROUGHT,), **sizes))
    answered(search, *(sample(request.id, 0.1 + place / 100) for place, request in enumerate(search.ask())))
    called = [request.sample.niche for request in search.ask() if isinstance(request, SolveRequest)]
    assert sorted(called, key=str) == [0, 1, 2, 3, None]
