"""What each setting of BiFE changes: who is solved with, who lives on, who becomes a parent."""

from itertools import product

import numpy as np
import pytest

from bife_core.extend.testing import drive
from bife_core.run.config import SearchConfig
from bife_core.search import BifeSearch, SampleRequest, sample_seed
from bife_core.search.symbolic.search import SymbolicSearch
from tests.support.searching import answered, ids, reply, sample, solve, table


def only(operator, **fields):
    """Return a search whose generations have one operator."""

    class OneOperator(BifeSearch):
        operators = (operator,)

    return OneOperator(SearchConfig(**fields))


@pytest.mark.parametrize(("niches", "terms"), [(4, 6), (4, 5), (1, 4), (2, 3), (3, 4)])
def test_fitted_rules_are_of_all_niches_and_sizes_and_none_is_asked_for_twice(niches, terms):
    options = {"terms": terms, "niches": niches}
    asked = SymbolicSearch(SearchConfig(algorithm="symbolic", samples=48, initial=48, options=options)).ask()
    fits = [request.training for request in asked if isinstance(request, SampleRequest) and request.training]
    selected = [(fit["niche"], fit["terms"]) for fit in fits if fit["children"] == 0]
    assert len(selected) == len(set(selected)), "nothing is drawn for these: a second would be the same rule"
    bred = [(fit["niche"], fit["rank"]) for fit in fits if fit["children"]]
    assert len(bred) == len(set(bred)) == 48 - len(selected), "of the same decisions, they differ in rank"
    every = set(product(range(niches), range(2, terms + 1)))
    assert set(selected) == {(fit["niche"], fit["terms"]) for fit in fits if fit["children"]} == every


@pytest.mark.parametrize(
    ("cap", "elites", "tau"), [(None, 4, 0.2), (3, 3, 0.3), (1, 1, 0.5)], ids=["all", "three", "one"]
)
def test_elite_cap_says_how_many_elites_are_kept(cap, elites, tau):
    config = SearchConfig(samples=4, initial=4, population=4, elite_fraction=1, elite_cap=cap)
    low = {f"g00-c0{k}": score for k, score in enumerate((0.5, 0.4, 0.3, 0.2))}
    search = BifeSearch(config)
    drive(search, table(low, {name: -k - 1.0 for k, name in enumerate(low)}))
    assert len(search.elites) == elites
    assert search.tau == tau
    assert ids(search.population) == list(low), "those without a rank fill the places left, by F_LF"


def test_one_rule_that_agrees_often_and_solves_badly_locks_the_papers_admission_but_not_ours():
    """A founder of highest F_LF and worst F_HF: nothing written later agrees as often."""
    config = SearchConfig()
    solved = {}
    for name, share in (("paper", None), ("default", config.threshold_share)):
        search = BifeSearch(config.model_copy(update={"threshold_share": share}))

        def answer(request):
            imitator = request.id == "g00-c00"
            rng = np.random.default_rng([sample_seed(0, request.id), request.kind == "solve"])
            if isinstance(request, SampleRequest):
                return reply(request, f_lf=0.9 if imitator else rng.uniform(0.2, 0.5))
            return reply(request, f_hf=-60.0 if imitator else -rng.uniform(1.0, 9.0))

        drive(search, answer)
        solved[name] = [summary.solved for summary in search.summaries]
        assert solved[name][0] == 4
    assert sum(solved["paper"][1:]) == 0
    assert sum(solved["default"][-10:]) > 1


def test_a_behavioural_duplicate_of_a_solved_rule_is_not_solved_with():
    search = BifeSearch(SearchConfig(samples=6, initial=2, population=2))
    answered(search, sample("g00-c00", 0.5, behaviour="a"), sample("g00-c01", 0.4, behaviour="b"))
    answered(search, solve("g00-c00", -1.0))
    answered(search, *(sample(f"g01-c0{k}", 0.6, behaviour=who) for k, who in enumerate("acbc")))
    assert ids(search.ask()) == ["g01-c01", "g01-c02"], "of two new duplicates one is solved with"
    assert all(rule.valid and rule.f_hf is None for rule in search.samples[2:])
    assert [rule.duplicate_of for rule in search.samples[2:]] == ["g00-c00", None, None, "g01-c01"]


def test_a_rule_is_raced_against_the_worst_elite_and_capped_by_the_best():
    search = BifeSearch(SearchConfig(samples=8, initial=4, population=4))
    answered(search, *(sample(f"g00-c0{k}", 0.5 - 0.1 * k) for k in range(4)))
    assert [(r.to_beat, r.best) for r in search.ask()] == [((), ())] * 2, "founders have nobody to beat"
    answered(search, solve("g00-c00", -2.0, costs=(1.0, 3.0)), solve("g00-c01", -5.0, costs=(4.0, 6.0)))
    answered(search, *(sample(f"g01-c0{k}", 0.9) for k in range(4)))
    for request in search.ask():
        assert (request.to_beat, request.best) == ((4.0, 6.0), (1.0, 3.0))


def test_a_rule_that_was_outraced_is_no_failure_and_no_elite():
    search = only("e1", samples=5, initial=4, population=4)
    answered(search, *(sample(f"g00-c0{k}", 0.5 - 0.1 * k) for k in range(4)))
    answered(search, solve("g00-c00", -2.0, costs=(2.0,)), solve("g00-c01", -5.0, costs=(5.0,)))
    answered(search, sample("g01-c00", 0.9))
    answered(search, solve("g01-c00", None, eliminated="it took 2 times as much"))
    (eliminated,) = (rule for rule in search.samples if rule.id == "g01-c00")
    assert (eliminated.valid, eliminated.f_hf) == (True, None)
    assert eliminated.eliminated == "it took 2 times as much"
    assert (search.summaries[-1].failures, search.summaries[-1].solved) == (0, 0)
    assert ids(search.elites) == ["g00-c00", "g00-c01"]
    assert "g01-c00" in ids(search.population)


def test_a_crossover_reads_rules_that_choose_differently():
    def parents(**fields):
        drawn = set()
        for seed in range(30):
            search = only("e1", samples=4, initial=3, population=3, elite_fraction=1, seed=seed, **fields)
            chosen = zip(("aaaaa", "aaaab", "abbbb"), (0.5, 0.4, 0.3), strict=True)
            answered(search, *(sample(f"g00-c0{k}", low, behaviour=b) for k, (b, low) in enumerate(chosen)))
            answered(search, *(solve(f"g00-c0{k}", -k - 1.0) for k in range(3)))
            (asked,) = search.ask()
            assert isinstance(asked, SampleRequest)
            drawn.add(tuple(sorted(ids(asked.parents))))
        return drawn

    assert parents() == {("g00-c00", "g00-c02"), ("g00-c01", "g00-c02")}
    assert ("g00-c00", "g00-c01") in parents(unlike_share=1)
