"""LLM4Branch: the three stages of a program, tuning, and life on islands."""

import numpy as np

from bife_core.extend.testing import drive
from bife_core.language.components import BRANCHING
from bife_core.run.config import SearchConfig
from bife_core.search import Sample, open_search
from bife_rivals.constants import Tuner, parameters, with_values
from bife_rivals.grid import cell_of, features_of
from bife_rivals.islands import Islands, Llm4BranchOptions
from tests.support.searching import ids, reply

PROGRAM = """
def candidate_variable_score(variable_features):
    return variable_features[18] + {weight} * variable_features[20]
"""

SMALL = Llm4BranchOptions(
    training_instances=2, tuning_calls=4, tuning_initial=2, tuning_instances=1, islands=2, tuning_limit_s=3
)


def search_with():
    settings = {"samples": 4, "initial": 1, "options": SMALL.model_dump()}
    return open_search(SearchConfig(algorithm="llm4branch", **settings))


def begun():
    """Return a search whose start program has an F_HF of -8, RPB taking 2 and 4 seconds."""
    search = search_with()
    baseline, start = search.ask()
    assert (baseline.kind, baseline.source) == ("trial", None)
    assert (baseline.instances, baseline.cost) == ((0, 1), "time")
    assert (start.kind, start.operator, start.scored) == ("sample", "skeleton", False)
    search.tell([reply(baseline, costs=(2.0, 4.0)), reply(start, sha="start", source=start.source)])
    (screening,) = search.ask()
    search.tell([reply(screening, costs=(9.0, 9.0))])
    (solve,) = search.ask()
    assert solve.kind == "solve", "the start program is neither screened out nor tuned"
    search.tell([reply(solve, f_hf=-8.0)])
    return search


def programs(requests):
    return tuple(
        reply(request, sha=f"sha-{request.id}", source=PROGRAM.format(weight=0.5 + number))
        for number, request in enumerate(requests)
    )


def test_a_program_goes_through_screening_tuning_and_validation():
    search = begun()
    samples = search.ask()
    assert [ids(request.parents) for request in samples] == [["g00-c00"], ["g00-c00"]]
    search.tell(programs(samples))

    screening = search.ask()
    assert [request.id for request in screening] == ["g01-c00.screening", "g01-c01.screening"]
    assert {request.time_limit_s for request in screening} == {60.0}
    # RPB took 2 and 4 seconds: the first is at least half as fast on both, the second is not on one.
    search.tell([reply(screening[0], costs=(4.0, 1.0)), reply(screening[1], costs=(1.0, 8.1))])

    tried = []
    for number, cost in enumerate((5.0, 3.0, 4.0, 6.0)):
        (trial,) = search.ask()
        assert (trial.id, trial.instances, trial.time_limit_s) == (f"g01-c00.t00{number}", (0,), 3.0)
        assert trial.source == PROGRAM.format(weight=trial.parameters["c0"])
        tried.append(trial.parameters)
        search.tell([reply(trial, costs=(cost,))])
    assert tried[0] == {"c0": 0.5}, "what was written is tried first"

    (solve,) = search.ask()
    assert solve.sample.source == PROGRAM.format(weight=tried[1]["c0"]), "3.0 was the least cost"
    search.tell([reply(solve, f_hf=-1.0)])
    assert search.best.id == "g01-c00"
    why = "screened out: 0.49 times as fast as RPB on training instance 2, 0.5 needed"
    assert search.samples[2].failure == why
    assert ids(search.population) == ["g01-c00", "g00-c00"]


def test_a_program_that_cannot_be_screened_is_out_with_the_reason():
    search = begun()
    search.tell(programs(search.ask()))
    search.tell([reply(request, failure="killed") for request in search.ask()])
    assert [sample.failure for sample in search.samples[1:]] == ["killed", "killed"]
    assert search.ask()[0].kind == "sample"


def test_without_rpbs_times_nothing_is_screened_out():
    def answer(request):
        if request.kind == "trial":
            failure = "died" if request.id == "rpb" else None
            return reply(request, failure=failure, costs=(50.0,) * len(request.instances))
        if request.kind == "sample":
            source = request.source or PROGRAM.format(weight=0.5)
            return reply(request, sha=request.id, source=source)
        return reply(request, f_hf=-1.0)

    search = search_with()
    drive(search, answer)
    assert all(sample.f_hf == -1.0 for sample in search.samples)


PARAMETERS = {"a": 1.0, "b": 1.0}


def test_the_parameters_are_the_numbers_in_the_text():
    source = PROGRAM.format(weight="0.25 * max(1e-6, 2.0)")
    assert parameters(source) == {"c0": 0.25, "c1": 2.0}
    changed = with_values(source, {"c0": 0.5, "c1": 3.0})
    assert changed == PROGRAM.format(weight="0.5 * max(1e-6, 3.0)")


def tuned(costs, calls=20, seed=1):
    tuner = Tuner(PARAMETERS, calls=calls, initial=5, seed=seed)
    tried = []
    while not tuner.done:
        values = tuner.propose()
        assert tuner.propose() == values
        tried.append(values)
        tuner.learn(costs(values))
    return tuner, tried


def test_tuning_starts_at_the_present_values_stays_within_bounds_and_gets_better():
    tuner, tried = tuned(lambda values: (values["a"] - 3.0) ** 2 + values["b"], calls=40)
    assert tried[0] == {"a": 1.0, "b": 1.0}
    assert all(0.1 <= value <= 10.0 for values in tried for value in values.values())
    assert abs(tuner.best["a"] - 3.0) < 1.0
    assert tuner.best in tried


def test_tuning_is_the_same_for_the_same_seed_and_costs_and_no_failed_setting_is_the_best():
    tried = [tuned(lambda values: values["a"] * values["b"], seed=seed)[1] for seed in (1, 1, 2)]
    assert tried[0] == tried[1] != tried[2]
    tuner, _ = tuned(lambda values: None if values["a"] < 2.0 else 10.0)
    assert tuner.best["a"] >= 2.0
    assert tuned(lambda values: None)[0].best == {"a": 1.0, "b": 1.0}
    assert Tuner({}, calls=10, initial=2, seed=0).done, "there is nothing to tune"


HEADER = "def candidate_variable_score(f):\n    return "
START = HEADER + "f[20] * f[21]\n"


def program(name, f_hf, features=()):
    """Return a solved program that reads some features, by default one of its own."""
    own = features or (ord(name[-1]) % BRANCHING.n_features,)
    source = HEADER + " + ".join(f"f[{index}]" for index in own) + "\n"
    return Sample(id=name, generation=0, operator="skeleton", source=source, f_hf=f_hf)


def islands(**fields):
    settings = Llm4BranchOptions(**({"islands": 2, "elite_ratio": 1.0} | fields))
    return Islands(settings, START, np.random.Generator(np.random.PCG64(0)))


def test_a_better_program_takes_the_cell_of_one_like_it_and_its_place_on_the_island():
    world = islands()
    world.add(0, program("first", -5.0, (30, 31)))
    world.add(0, program("better", -3.0, (32, 33)))
    world.add(0, program("worse", -9.0, (34, 35)))
    assert [rule.id for rule in world.grids[0].values()] == ["better"]
    # The first was driven out, the worse lives without a cell.
    assert ids(world.programs) == ["better", "worse"]
    world.add(0, program("unlike", -9.5, (20, 21, 30)))
    world.add(1, program("elsewhere", -9.5, (30, 31)))
    assert {rule.id for rule in world.grids[0].values()} == {"better", "unlike"}
    assert [rule.id for rule in world.grids[1].values()] == ["elsewhere"], "each island has a grid of its own"


def test_cells_tell_length_and_reading_apart():
    reference = features_of(START)
    assert reference == {20, 21}
    short = cell_of(START, reference, 10)
    assert short.diversity == 0
    assert cell_of(HEADER + "f[30]\n", reference, 10).diversity == 9, "no feature in common"
    assert cell_of(HEADER + "f[20] + f[30]\n", reference, 10).diversity == 6, "one of three in common"
    first, line, last = "def candidate_variable_score(f):\n", "    x = f[20] * f[21]\n", "    return x\n"
    long = cell_of(first + 20 * line + last, reference, 10)
    assert (long.diversity, long.complexity > short.complexity) == (0, True)
    assert cell_of(first + 100 * line + last, reference, 10).complexity == 9
    assert short.distance(long) == long.complexity - short.complexity


def test_inspirations_beyond_the_elite_come_from_the_nearest_cells():
    world = islands(exploitation=1.0, exploration=0.0, archive=1, elite_ratio=0.0, inspirations=2)
    world.add(0, program("parent", -1.0, (20, 21)))
    world.add(0, program("far", -2.0, (30,)))
    world.add(0, program("near", -4.0, (20, 21, 22)))
    world.add(0, program("between", -3.0, (20, 21, 22, 23, 24)))
    assert ids(world.draw(0)) == ["parent", "near", "between"]


def test_parents_come_from_the_archive_the_island_or_anywhere():
    for chances, allowed in (
        ({"exploitation": 1.0, "exploration": 0.0}, {"best"}),
        ({"exploitation": 0.0, "exploration": 1.0}, {"best", "poor"}),
        ({"exploitation": 0.0, "exploration": 0.0}, {"best", "poor", "other"}),
    ):
        world = islands(archive=2, **chances)
        for name, f_hf, island in (("best", -1.0, 0), ("poor", -9.0, 0), ("other", -2.0, 1)):
            world.add(island, program(name, f_hf))
        drawn = {world.draw(0)[0].id for _ in range(60)}
        assert drawn == allowed


def test_inspirations_are_the_islands_best_but_the_parent_and_the_worst_is_dropped_beyond_the_limit():
    world = islands(archive=1, exploitation=1.0, exploration=0.0, inspirations=2)
    for number in range(5):
        world.add(0, program(f"p{number}", -float(number)))
    assert ids(world.draw(0)) == ["p0", "p1", "p2"]
    assert islands().draw(0) == ()
    world = islands(programs=2)
    for number, f_hf in enumerate((-3.0, -1.0, -2.0)):
        world.add(number % 2, program(f"p{number}", f_hf))
    assert ids(world.programs) == ["p1", "p2"]


def test_the_best_of_an_island_migrate_to_the_next():
    world = islands(exploitation=0.0, exploration=1.0, migration_rate=0.5)
    world.add(0, program("a", -1.0))
    world.add(1, program("b", -2.0, (20, 21)))
    world.migrate()
    assert {world.draw(1)[0].id for _ in range(40)} == {"a", "b"}
    assert ids(world.programs) == ["a", "b"]
