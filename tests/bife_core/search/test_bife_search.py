"""Algorithm 1: one run worked by hand, and what holds for every run."""

import math

import pytest
from hypothesis import given, settings, strategies as st

from bife_core.extend.testing import World, drive
from bife_core.run.config import SearchConfig
from bife_core.search import BifeSearch, SampleRequest, SolveRequest, sample_seed
from bife_core.search.base import CROSSOVER_PARENTS
from bife_core.search.bife import HighOnlySearch
from tests.support.searching import answered, ids, reply, sample, solve, table, wishes

SMALL = SearchConfig(samples=12, initial=5, population=4, threshold_share=None, unlike_share=1)

CONFIGS = st.builds(
    lambda samples, initial, **fields: SearchConfig(samples=samples, initial=min(samples, initial), **fields),
    samples=st.integers(1, 30),
    initial=st.integers(1, 8),
    population=st.integers(1, 6),
    elite_fraction=st.sampled_from([0.1, 0.25, 0.5, 0.9, 1.0]),
    elite_cap=st.sampled_from([None, 1, 2, 5]),
    threshold_share=st.sampled_from([None, 0.1, 0.5, 1.0]),
    seed=st.integers(0, 5),
)
WORLDS = st.builds(
    World,
    seed=st.integers(0, 10_000),
    failing=st.sampled_from([0.0, 0.3, 0.8]),
    repeating=st.sampled_from([0.0, 0.4]),
)


def test_a_run_worked_by_hand():
    """N = 4 and alpha = 1/2, so two founders; parents follow from PCG64(0) and the weights 1/4, 1/5, 1/6, 1/7.

    PCG64(0) draws .637 .270 | .041 .017 | .813 | .913 and then .607 .729 | .544 .935 | .816. The weights cumulate
    to .329 .592 .812 1; of a pair, the second is drawn from what the first has left.
    """
    search = BifeSearch(SMALL)
    assert wishes(search) == [("sample", f"g00-c0{k}", "i1", ()) for k in range(5)]
    answered(
        search,
        sample("g00-c00", 0.50, sha="a"),
        sample("g00-c01", failure="syntax error in line 1"),
        sample("g00-c02", 0.60, sha="b"),
        sample("g00-c03", 0.40, sha="c"),
        sample("g00-c04", 0.55, sha="d"),
    )
    assert (search.tau, search.best) == (None, None)
    assert wishes(search) == [("solve", "g00-c02", "", ()), ("solve", "g00-c04", "", ())]
    answered(search, solve("g00-c02", -3.0), solve("g00-c04", -2.0))

    assert ids(search.elites) == ["g00-c04", "g00-c02"]
    assert ids(search.population) == ["g00-c04", "g00-c02", "g00-c00", "g00-c03"]
    assert search.tau == 0.60
    assert wishes(search) == [
        ("sample", "g01-c00", "e1", ("g00-c00", "g00-c04")),
        ("sample", "g01-c01", "e2", ("g00-c04", "g00-c02")),
        ("sample", "g01-c02", "m1", ("g00-c03",)),
        ("sample", "g01-c03", "m2", ("g00-c03",)),
    ]
    answered(
        search,
        sample("g01-c00", 0.70, sha="e"),
        sample("g01-c01", 0.60, sha="f"),  # reaches tau exactly
        sample("g01-c02", 0.59, sha="g"),
        sample("g01-c03", 0.99, sha="b"),
    )
    assert search.samples[-1].failure == "duplicate of g00-c02"
    assert wishes(search) == [("solve", "g01-c00", "", ()), ("solve", "g01-c01", "", ())]
    answered(search, solve("g01-c00", -3.5), solve("g01-c01", failure="the solver was killed"))

    assert ids(search.elites) == ["g00-c04", "g00-c02", "g01-c00"]
    assert ids(search.population) == ["g00-c04", "g00-c02", "g01-c00", "g01-c02"]
    assert search.tau == 0.70
    assert search.remaining() == 3
    assert wishes(search) == [
        ("sample", "g02-c00", "e1", ("g01-c00", "g00-c02")),
        ("sample", "g02-c01", "e2", ("g00-c02", "g01-c02")),
        ("sample", "g02-c02", "m1", ("g01-c02",)),
    ]
    last = (("g02-c00", 0.69, "h"), ("g02-c01", 0.71, "i"), ("g02-c02", math.nan, "j"))
    answered(search, *(sample(name, f_lf, sha=sha) for name, f_lf, sha in last))
    assert wishes(search) == [("solve", "g02-c01", "", ())]
    answered(search, solve("g02-c01", -0.5))

    assert search.ask() == ()
    assert ids(search.population) == ["g02-c01", "g00-c04", "g00-c02", "g01-c00"]
    assert (search.tau, search.best.id) == (0.70, "g02-c01")
    assert [(s.samples, s.failures, s.solved, s.tau, s.n_alive) for s in search.summaries] == [
        (5, 1, 2, 0.60, 4),
        (4, 2, 1, 0.70, 4),
        (3, 1, 1, 0.70, 4),
    ]
    last = search.summaries[-1]
    assert (last.samples_total, last.failures_total, last.best_f_lf, last.best_f_hf) == (12, 4, 0.71, -0.5)
    assert last.mean_f_lf == pytest.approx((0.71 + 0.55 + 0.60 + 0.70) / 4)


@pytest.mark.parametrize(
    ("numbers", "sentence"),
    [
        ((), "found answers to nothing"),
        ((0, 1), "in order: g00-c00, g00-c01, g00-c02; found answers to"),
        ((0, 2, 1), "found answers to g00-c00, g00-c02, g00-c01"),
        ((0, 1, 7), "found answers to g00-c00, g00-c01, g00-c07"),
    ],
    ids=["none", "too few", "swapped", "unknown"],
)
def test_answers_that_do_not_fit_are_refused_and_change_nothing(numbers, sentence):
    search = BifeSearch(SearchConfig(samples=3, initial=3))
    requests = search.ask()
    others = (requests[0].model_copy(update={"id": f"g00-c0{number}"}) for number in numbers)
    answers = [reply(request, f_lf=0.5) for request in others]
    with pytest.raises(ValueError, match=sentence):
        search.tell(answers)
    assert search.ask() == requests
    assert search.samples == ()
    drive(search, World(seed=1))
    assert search.ask() == ()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"failure": "no code"}, "no code"),
        ({}, "no F_LF was reported"),
        ({"f_lf": math.nan}, "F_LF is nan, not a finite number"),
        ({"f_lf": -math.inf}, "F_LF is -inf, not a finite number"),
        ({"f_lf": math.nan, "failure": "raised"}, "raised"),
        ({"f_lf": 0.5, "failure": "too slow"}, "too slow"),
        ({"f_lf": 0.5, "sha": "same"}, "duplicate of g00-c00"),
        ({"f_lf": math.nan, "sha": "same"}, "F_LF is nan, not a finite number"),
    ],
)
def test_a_failed_sample_keeps_its_reason_and_earns_no_solve(answer, reason):
    search = BifeSearch(SearchConfig(samples=2, initial=2, population=2, elite_fraction=1))
    answered(search, sample("g00-c00", 0.1, sha="same"), sample("g00-c01", **answer))
    assert search.samples[1].failure == reason
    assert [request.id for request in search.ask()] == ["g00-c00"]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ({"failure": "killed"}, "killed"),
        ({}, "no F_HF was reported"),
        ({"f_hf": math.inf}, "F_HF is inf, not a finite number"),
        ({"f_hf": -1.0, "failure": "killed"}, "killed"),
    ],
)
def test_a_failed_solve_keeps_its_reason_and_founds_no_elite(answer, reason):
    search = BifeSearch(SearchConfig(samples=1, initial=1, population=1))
    answered(search, sample("g00-c00", 0.9))
    answered(search, solve("g00-c00", **answer))
    (solved,) = search.samples
    assert (solved.failure, solved.f_hf, search.best) == (reason, None, None)
    assert search.population == ()


def test_the_next_by_low_fidelity_are_tried_when_no_founder_can_be_solved_with():
    search = BifeSearch(SearchConfig(samples=5, initial=5, population=4))
    low = {f"g00-c0{k}": score for k, score in enumerate((0.1, 0.5, 0.4, 0.3, 0.2))}
    asked = drive(search, table(low, {"g00-c04": -7.0}))
    tried = [[r.id for r in requests] for requests in asked[1:]]
    assert tried == [["g00-c01", "g00-c02"], ["g00-c03", "g00-c04"]]
    assert (search.tau, len(search.summaries)) == (0.2, 1)


def test_the_seed_of_a_sample_depends_on_its_id_and_the_seed_alone():
    """Frozen: they are part of the keys under which paid answers are stored."""
    seeds = [sample_seed(seed, name) for seed, name in ((0, "g00-c00"), (0, "g00-c01"), (1, "g00-c00"))]
    assert seeds == [1980973735, 1644781832, 1198708636]
    for seed in (0, 1):
        search = BifeSearch(SMALL.model_copy(update={"seed": seed}))
        for requests in drive(search, World(seed=8)):
            for request in requests:
                assert isinstance(request, SolveRequest) or request.seed == sample_seed(seed, request.id)


@settings(max_examples=60, deadline=None)
@given(config=CONFIGS, world=WORLDS)
def test_what_holds_at_every_step(config, world):
    search = BifeSearch(config)
    elites = set()
    generations = 0
    while requests := search.ask():
        assert search.ask() == requests
        tau = search.tau
        for request in requests:
            if isinstance(request, SampleRequest):
                assert not (request.parents and tau is None)
                wanted = {"i1": 0, "m1": 1, "m2": 1}.get(request.operator, CROSSOVER_PARENTS)
                assert len(request.parents) == wanted
                assert {parent.id for parent in request.parents} <= set(ids(search.population))
                if len(search.population) >= wanted:
                    assert len({parent.id for parent in request.parents}) == wanted
            elif tau is not None:
                assert request.sample.f_lf >= tau
        search.tell(tuple(world(request) for request in requests))
        if len(search.summaries) > generations:
            generations += 1
            assert search.summaries[-1].tau == search.tau
            if search.elites:
                of_elites = [elite.f_lf for elite in search.elites if elite.f_lf is not None]
                scores = [c.f_lf for c in search.samples if c.valid and c.f_lf is not None]
                assert search.tau <= max(of_elites)
                if config.threshold_share is not None:
                    assert sum(f_lf >= search.tau for f_lf in scores) >= config.threshold_share * len(scores)
                else:
                    worst = min(elite.f_hf for elite in search.elites if elite.f_hf is not None)
                    assert search.tau in {elite.f_lf for elite in search.elites if elite.f_hf == worst}
                    assert tau is None or config.elite_cap is not None or search.tau >= tau
            now = set(ids(search.elites))
            assert elites <= now or config.elite_cap is not None
            assert bool(elites) <= bool(now)
            elites = now
            assert len(search.elites) <= (config.elite_cap or math.inf)
            assert len(search.population) <= max(config.population, len(now))
            assert len(set(ids(search.population))) == len(search.population)

    samples = search.samples
    assert search.generation == generations - 1
    assert (len(samples), search.remaining()) == (config.samples, 0)
    assert len({c.id for c in samples}) == len(samples)
    assert all(c.failure for c in samples if c.f_lf is None)
    shas = [c.sha for c in samples if c.valid and c.sha]
    assert len(set(shas)) == len(shas)
    solved = [c.f_hf for c in samples if c.f_hf is not None]
    assert (search.best.f_hf if search.best else None) == (max(solved) if solved else None)


def test_without_f_lf_every_valid_rule_is_solved_with():
    search = HighOnlySearch(SearchConfig(algorithm="bife_without_f_lf", samples=8, initial=4, population=4))
    asked = drive(search, World(seed=2, failing=0.3))
    valid = [one.id for requests in asked for one in requests if isinstance(one, SolveRequest)]
    sampled = [c for c in search.samples if c.failure is None or "F_HF" in c.failure]
    assert valid == ids(tuple(sampled))
    written = [[one.operator for one in some if isinstance(one, SampleRequest)] for some in asked]
    assert [some for some in written if some] == [["i1"] * 4, ["e1", "e2", "m1", "m2"]]
    assert [c.f_hf for c in search.population] == sorted((c.f_hf for c in search.population), reverse=True)
