"""Predefined settings of SCIP are found again in the parameters that they set."""

import random

import pytest

from bife_core.solver.scip.emphases import EMPHASES, of_emphases, shortest
from bife_core.solver.scip.settings import usual_parameters
from bife_core.tuning.space import Space


@pytest.mark.parametrize("chosen", [{"separating": "off"}, {"emphasis": "hardlp", "heuristics": "off"}, {}])
def test_what_was_chosen_by_name_is_told_by_name(chosen):
    single = {"lp/pricing": "d", "misc/usesymmetry": 0}
    assert shortest(of_emphases((*chosen.items(),)) | single) == (chosen, single)


def test_a_parameter_that_was_set_otherwise_is_told_beside_the_name():
    off = of_emphases((("separating", "off"),))
    kept = {"separating/gomory/freq": usual_parameters()["separating/gomory/freq"]}
    assert off.keys() > kept.keys()
    others = {name: value for name, value in off.items() if name not in kept}
    assert shortest(others) == ({"separating": "off"}, kept)


def test_names_and_the_rest_give_all_parameters_in_fewer_lines_than_any_choices():
    draw, space, usual = random.Random(4), Space({}), usual_parameters()
    for _ in range(12):
        rows = [row for row in space.rows if draw.random() < (0.5 if row.name in EMPHASES else 0.1)]
        choices = space.counting({row.name: draw.choice(row.choices) for row in rows})
        params = space.configuration(choices).params
        names, rest = shortest(params)
        again = of_emphases((*names.items(),)) | rest
        assert {name: value for name, value in again.items() if value != usual[name]} == params
        assert len(rest) + 3 * len(names) <= len(choices) + 2 * len(choices.keys() & EMPHASES)
