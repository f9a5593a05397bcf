"""Searches keep to the contract; EoH and ReEvo are worked by hand, step by step as described."""

from pathlib import Path

import numpy as np
import pytest

from bife_core import InProcess, load_method
from bife_core.base.errors import ConfigError
from bife_core.extend.testing import World, check_search, drive
from bife_core.measure.config import LowFidelityConfig
from bife_core.measure.decisions.recorded import Decisions
from bife_core.measure.low import score_low
from bife_core.run.config import PipelineConfig, SearchConfig
from bife_core.search import ReflectionRequest, SampleRequest, open_search
from tests.support.searching import ids, reply

PUBLISHED = Path(__file__).parents[1] / "published"


def config(method, **fields):
    return SearchConfig(algorithm=method, **({"samples": 12, "initial": 4, "population": 4} | fields))


def scored(requests, values):
    return [reply(r, sha=r.id, f_lf=value) for r, value in zip(requests, values, strict=True)]


def operators(requests):
    return [r.operator for r in requests if isinstance(r, SampleRequest | ReflectionRequest)]


@pytest.mark.parametrize("file", sorted(PUBLISHED.glob("*.json")), ids=lambda file: file.stem)
def test_a_published_rule_imitates_more_than_chance(file, recorded):
    rule, samples = load_method(file), Decisions.load(recorded.path)
    chance = float(np.mean([best.mean() for best in np.split(samples.best, samples.offsets[1:-1])]))
    found = score_low(rule.text, recorded.path, LowFidelityConfig(), InProcess(), method=True).f_lf
    assert found is not None
    assert found > (2 * chance if file.name.startswith("combinatorial_auction") else 0)


def test_eoh_lets_its_operators_take_turns_and_never_solves():
    search = open_search(config("eoh", population=6, samples=16))
    asked = drive(search, World(seed=1, distinct=1000))
    assert [len(requests) for requests in asked] == [4, 6, 6]
    assert operators(asked[0]) == ["i1"] * 4
    turns = ["e1", "e2", "m1", "m2"] * 3
    assert operators(asked[1]) + operators(asked[2]) == turns
    assert {request.kind for requests in asked for request in requests} == {"sample"}


def test_eoh_keeps_the_best_rules_of_different_f_lf():
    search = open_search(config("eoh", samples=8))
    search.tell(scored(search.ask(), (0.5, 0.7, 0.5, 0.6)))
    assert ids(search.population) == ["g00-c01", "g00-c03", "g00-c00"]
    search.tell(scored(search.ask(), (0.7, 0.1, 0.9, 0.800001)))
    assert ids(search.population) == ["g01-c02", "g01-c03", "g00-c01", "g00-c03"]
    assert search.best.id == "g01-c02"


def reevo(low=(0.3, 0.1, 0.2, 0.4, 0.5), **fields):
    """Return a ReEvo whose initial rules are scored, the seed first."""
    search = open_search(config("reevo", **fields))
    first = search.ask()
    assert operators(first) == ["improve_seed"] * 5
    assert [request.source is None for request in first] == [False, True, True, True, True]
    assert [ids(request.parents) for request in first] == [[]] + [["g00-c00"]] * 4
    search.tell(scored(first, low))
    return search


def test_reevos_seed_is_no_part_of_the_population_and_drawn_from_while_it_is_the_best_rule():
    search = reevo((0.9, 0.1, 0.2, 0.2, 0.1), samples=40)
    assert "g00-c00" not in ids(search.population)
    assert search.best.id == "g00-c00"
    assert "g00-c00" in {name for request in search.ask() for name in ids(request.parents)}


def test_a_generation_of_reevo_has_its_four_steps_in_order():
    search = reevo(samples=40)
    compared = search.ask()
    assert [request.id for request in compared] == [f"g01-r0{k}" for k in range(4)]
    for request in compared:
        worse, better = request.parents
        assert worse.f_lf < better.f_lf
    hints = [f"hint {number}" for number in range(4)]
    search.tell([reply(r, text=hint) for r, hint in zip(compared, hints, strict=True)])

    crossed = search.ask()
    assert operators(crossed) == ["reflective_crossover"] * 4
    assert [request.hints for request in crossed] == [(hint,) for hint in hints]
    assert [request.parents for request in crossed] == [request.parents for request in compared]
    search.tell(scored(crossed, (0.6, 0.1, 0.2, 0.3)))

    (lesson,) = search.ask()
    assert (lesson.operator, lesson.hints, lesson.parents) == ("long_term_reflection", tuple(hints), ())
    search.tell([reply(lesson, text="lesson one")])

    mutants = search.ask()
    assert operators(mutants) == ["elitist_mutation"] * 2
    assert all(ids(request.parents) == ["g01-c00"] for request in mutants), "the best rule so far"
    assert all(request.hints == ("lesson one",) for request in mutants)
    search.tell(scored(mutants, (0.55, 0.05)))
    assert ids(search.population) == ["g01-c00", "g01-c04", "g01-c03", "g01-c02", "g01-c01", "g01-c05"]
    assert search.config.samples - search.remaining() == 4 + 6

    again = search.ask()
    search.tell([reply(request, text="new") for request in again])
    crossed = search.ask()
    search.tell(scored(crossed, [0.01] * len(crossed)))
    (lesson,) = search.ask()
    assert lesson.hints == ("lesson one", "new", "new", "new", "new")


def test_a_failed_reflection_leaves_its_crossover_without_a_hint():
    search = reevo(samples=40)
    compared = search.ask()
    search.tell([reply(request, failure="no answer") for request in compared])
    crossed = search.ask()
    assert [request.hints for request in crossed] == [()] * 4
    search.tell(scored(crossed, [0.2] * len(crossed)))
    assert operators(search.ask()) == ["elitist_mutation"] * 2, "without hints there is no lesson to draw"


def test_reevo_without_mutation_has_no_lessons_and_rules_alike_are_followed_by_more_from_the_seed():
    def asked_by(search, answer):
        return {name for requests in drive(search, answer) for name in operators(requests)}

    search = open_search(config("reevo", samples=20, options={"mutation_rate": 0.0}))
    expected = {"improve_seed", "short_term_reflection", "reflective_crossover"}
    assert asked_by(search, World(seed=3, distinct=100)) == expected
    alike = open_search(config("reevo", samples=12))
    assert asked_by(alike, lambda request: scored([request], [0.5])[0]) == {"improve_seed"}


SMALL = {"training_instances": 2, "tuning_calls": 3, "tuning_initial": 2, "tuning_instances": 1, "islands": 3}


@pytest.mark.parametrize(
    ("method", "options"),
    [
        *(("eoh", {}), ("reevo", {}), ("llm4branch", SMALL | {"migration_interval": 2})),
        *(("symb4co", options) for options in ({}, {"rules": 1}, {"runs": 1, "rules": 6})),
        *(("gs4co", {"runs": 2, "rules": 3}), ("cuts", {})),
    ],
)
def test_it_keeps_to_the_contract(method, options):
    check_search(method, options=options)
    config = PipelineConfig(search=SearchConfig(algorithm=method, options=options))
    assert config.origin_of_rules == ("trained" if method in ("symb4co", "gs4co") else "offline")


def test_reflections_may_use_up_budget():
    search = open_search(config("reevo", samples=20, initial=5, options={"count_reflections": True}))
    asked = [request for requests in drive(search, World(seed=9, distinct=40)) for request in requests]
    reflections = sum(request.kind == "reflection" for request in asked)
    samples = sum(isinstance(request, SampleRequest) and request.source is None for request in asked)
    assert reflections > 0
    assert samples + reflections in (20, 21), "a lesson at the very end may be one too many"


@pytest.mark.parametrize(
    ("method", "fields", "why"),
    [
        ("llm4branch", {"first_rules": ("def f(): pass",)}, "a program of its own"),
        ("llm4branch", {"options": {"exploitation": 0.9, "exploration": 0.2}}, "cannot exceed 1"),
        ("llm4branch", {"options": {"training_instances": 1, "tuning_instances": 2}}, "cannot exceed"),
        ("reevo", {"options": {"mutation": 1}}, "mutation"),
    ],
)
def test_settings_that_do_not_fit_are_one_sentence(method, fields, why):
    with pytest.raises(ConfigError, match=why):
        open_search(config(method, **fields))
