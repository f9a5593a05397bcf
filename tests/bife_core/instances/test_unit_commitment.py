import csv
import re
from collections import Counter

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from bife_core.instances.base import DATA, SPLITS, Place, content_digest
from bife_core.instances.config import FAMILIES
from bife_core.instances.families.unit_commitment import HOURS, UNITS, unit_commitment
from bife_core.instances.milp import mps_text
from tests.support.marks import long_but
from tests.support.read_back import arrays

SIZES = FAMILIES["unit_commitment"].sizes


def place(split="test", index=0, seed=0, size="tiny"):
    return Place("unit_commitment", size, split, index, seed)


def table(name):
    with (DATA / name).open(newline="") as file:
        return list(csv.DictReader(file))


def solved(model):
    """Return the cheapest plan by column name, and its cost."""
    model = arrays(model)
    bounds = Bounds(model.lower, model.upper)
    rows = LinearConstraint(model.rows, model.row_lower, model.row_upper)
    solution = milp(model.objective, integrality=model.integer, bounds=bounds, constraints=rows)
    assert solution.status == 0
    return dict(zip(model.column_names, solution.x.tolist(), strict=True)), solution.fun


def least_of(model, name):
    return next(row.low for row in model.constraints if row.name == name)


def test_every_integer_is_a_unit_s_hour_and_only_those_of_the_unit_that_must_run_are_fixed():
    hours = SIZES["transfer"]["hours"]
    model = arrays(unit_commitment(place(size="transfer"), **SIZES["transfer"]))
    assert (model.rows.shape, int(model.integer.sum())) == ((17_548, 18_502), 7_966)
    names = np.array(model.column_names)
    kinds = Counter(re.sub(r"[\d_].*", "", name) for name in names[model.integer])
    units = table(UNITS)
    stated = sum(hours for unit in units for k in range(3) if unit[f"start_lag_{k}"])
    out_of_reach = 98
    assert kinds == {"u": 73 * hours, "v": 73 * hours, "w": 73 * hours, "d": stated - out_of_reach}
    fixed = names[model.integer & (model.lower == model.upper)].tolist()
    must = [unit["unit"] for unit in units if unit["must_run"] == "1"]
    assert fixed == [f"u_{unit}_{t}" for unit in must for t in range(hours)]
    assert len(fixed) == 24


def test_an_instance_is_the_same_on_every_machine():
    model = unit_commitment(place(), **SIZES["tiny"])
    assert model.name == "uc-2020-02-09-area1-6h"
    assert content_digest(mps_text(model).encode()) == "7263dc6a3b31d665"


def test_days_take_turns_and_none_is_in_two_splits_but_those_of_collection_and_design():
    def day(*where):
        return re.search(r"\d{4}-\d\d-\d\d", unit_commitment(place(*where), hours=1, areas="1").name)[0]

    days = {(split, seed): [day(split, k, seed) for k in range(12)] for split in SPLITS for seed in (0, 1)}
    for split, many in (("design", 4), ("validation", 2), ("test", 6)):
        values = days[split, 0]
        assert values[:many] == values[many : 2 * many]
        assert len(set(values)) == many
        assert set(days[split, 1]) == set(values)
        assert [FAMILIES["unit_commitment"].group(place(split, k)) for k in range(12)] == values
    assert days["test", 0] != days["test", 1]
    assert set(days["collection", 0]) == set(days["design", 0])
    assert len({day for held in days.values() for day in held}) == 12
    assert "6 groups of test instances" in FAMILIES["unit_commitment"].notes[1]


def test_every_area_is_drawn_and_asked_for_a_third():
    names = {unit_commitment(place(index=k), hours=1).name for k in range(20)}
    assert {re.search(r"area(\d+)", name)[1] for name in names} == {"1", "2", "3"}
    alone, three = (unit_commitment(place(), hours=1, areas=areas) for areas in ("1", "123"))
    for kind in ("demand_0", "reserve_0"):
        low_one, low_whole = (least_of(m, kind) for m in (alone, three))
        assert low_one == pytest.approx(low_whole / 3)


@pytest.mark.parametrize("split", long_but(["design", "test"], ["design"]))
def test_the_cheapest_plan_is_one_a_planner_could_run_and_costs_what_it_says(split):
    """Look at a plan without the model: output, ramps, least hours on and off, and what running and starting cost."""
    hours, first = 6, 6
    plan, cost = solved(unit_commitment(place(split), **SIZES["tiny"]))
    made, bill = np.zeros(hours), 0.0
    for row in table(UNITS):
        if not row["unit"].startswith("1"):
            continue
        facts = {key: float(value) for key, value in row.items() if key != "unit" and value}
        on = [round(plan[f"u_{row['unit']}_{t}"]) for t in range(hours)]
        least, most, was_on = facts["least_mw"], facts["most_mw"], facts["on"]
        mw = np.array([plan[f"p_{row['unit']}_{t}"] + least * on[t] for t in range(hours)])
        kept = np.array([plan[f"r_{row['unit']}_{t}"] for t in range(hours)])
        made += mw
        lasted = facts["been_up"] if was_on else facts["been_down"]
        before, above = was_on, was_on * (facts["mw"] - least)
        points = [(facts[f"point_mw_{k}"], facts[f"point_cost_{k}"]) for k in range(4)]
        starts = [
            (facts[f"start_lag_{k}"], facts[f"start_cost_{k}"]) for k in range(3) if f"start_lag_{k}" in facts
        ]
        for t in range(hours):
            assert on[t] >= facts["must_run"]
            assert mw[t] >= least * on[t] - 1e-6
            assert mw[t] + kept[t] <= most * on[t] + 1e-5
            if on[t] != before:
                assert lasted >= facts["hours_up" if before else "hours_down"]
                if on[t]:
                    bill += [price for lag, price in starts if lag <= lasted][-1]
                    assert mw[t] + kept[t] <= facts["ramp_start"] + 1e-5
                lasted = 0
            lasted += 1
            now = mw[t] - least * on[t]
            assert now - above <= facts["ramp_up"] + 1e-5
            assert above - now <= facts["ramp_down"] + 1e-5
            before, above = on[t], now
            bill += on[t] * np.interp(mw[t], *zip(*points, strict=True)) if on[t] else 0.0
    assert cost == pytest.approx(bill, rel=1e-5)
    for t in range(hours):
        made[t] += plan[f"q_{t}"]
    model = unit_commitment(place(split), **SIZES["tiny"])
    demand = [least_of(model, f"demand_{t}") for t in range(hours)]
    assert made == pytest.approx(demand)
    date = re.search(r"\d{4}-\d\d-\d\d", model.name)[0]
    shape = [float(row["demand"]) for row in table(HOURS) if row["day"] == date][first : first + hours]
    assert np.ptp(np.array(demand) / np.array(shape)) < 1e-9
