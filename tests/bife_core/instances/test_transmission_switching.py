import re

import numpy as np
import pytest

from bife_core.instances.base import DATA, SPLITS, Place, content_digest
from bife_core.instances.config import FAMILIES
from bife_core.instances.families import transmission_switching as drawn
from bife_core.instances.families.transmission_switching import grid, transmission_switching
from bife_core.instances.milp import mps_text

SIZES = FAMILIES["transmission_switching"].sizes


def place(split="test", index=0, seed=0, size="test"):
    return Place("transmission_switching", size, split, index, seed)


def rows_of(model):
    """Rows as mappings of column name to coefficient, with both sides."""
    rows = {}
    for name, columns, coefficients, low, high in model.constraints:
        names = [model.variables[j].name for j in columns]
        rows[name] = (dict(zip(names, coefficients.tolist(), strict=True)), low, high)
    return rows


@pytest.fixture(scope="module")
def tiny():
    return transmission_switching(place(size="tiny"), **SIZES["tiny"])


def test_an_instance_is_the_same_on_every_machine(tiny):
    assert content_digest(mps_text(tiny).encode()) == "9d0d984f6008fd70"


@pytest.fixture
def days_of(monkeypatch, tmp_path):
    """Days of each instance, and its group; the days stand in a model's name, and rows take a hundred times as long."""
    monkeypatch.setattr(drawn, "_add_day", lambda *_: None)

    def days(size, split, seed=0, count=40):
        for k in range(count):
            at = place(split, k, seed, size)
            name = transmission_switching(at, **SIZES[size]).name
            network, first, many = re.match(r"(\w+)-day(\d+)-(\d+)x", name).groups()
            days = frozenset((network, int(first) + day) for day in range(int(many)))
            yield days, drawn.FAMILY.group(at)

    return days


@pytest.mark.parametrize(
    ("size", "windows"),
    [("tiny", (17, 12, 33)), ("small", (5, 4, 11)), ("test", (2, 1, 4)), ("transfer", (1, 1, 2))],
)
def test_instances_share_all_their_days_or_none_and_so_many_windows_are_told(days_of, size, windows):
    for split, many in zip(SPLITS[1:], windows, strict=True):
        drawn_days = dict(days_of(size, split))
        assert len(drawn_days) == len(set(drawn_days.values())) == many
        assert sum(map(len, drawn_days)) == len(frozenset.union(*drawn_days)), "two windows share a day"
        assert len(dict(days_of(size, split, count=many))) == many, (
            "a window is taken twice before the last one"
        )
    assert f" {windows[-1]} in size {size}" in " ".join(drawn.FAMILY.notes)


def test_no_day_is_in_two_splits_but_those_of_collection_and_design(days_of):
    held = {split: set() for split in SPLITS}
    for size in SIZES:
        for split in SPLITS:
            if (size, split) != ("transfer", "validation"):  # there are too few days
                held[split] |= frozenset.union(*dict(days_of(size, split)))
    assert held["collection"] == held["design"]
    apart = [held[split] for split in SPLITS[1:]]
    assert sum(map(len, apart)) == len(set.union(*apart))
    for network in drawn.GRIDS:
        on_record = len(grid(network).risk)
        tested = [day for name, day in held["test"] if name == network]
        assert (max(tested), len(tested)) == (on_record, pytest.approx(on_record / 2, rel=0.1))


def test_another_seed_takes_the_days_in_another_order(days_of):
    first, second = (list(days_of("small", "test", seed, count=22)) for seed in (0, 1))
    assert first != second
    assert set(first) == set(second)
    assert first[:11] == first[11:], "and round again"


def test_a_line_that_must_go_is_underground_or_off(tiny):
    day = int(re.search(r"day(\d+)", tiny.name)[1]) - 1
    risk, rows = grid("rts_gmlc").risk[day], rows_of(tiny)
    dangerous, fair = int(risk.argmax()) + 1, int(np.flatnonzero((risk > 1e-4) & (risk <= 1))[0]) + 1
    assert rows[f"bury_1_{dangerous}"] == ({f"y_{dangerous}": 1.0, f"z_1_{dangerous}": -1.0}, 0.0, 0.0)
    assert rows[f"bury_1_{fair}"] == ({f"y_{fair}": 1.0, f"z_1_{fair}": -1.0}, -np.inf, 0.0)
    assert f"z_1_{int(risk.argmin()) + 1}" not in [column.name for column in tiny.variables]


def test_a_line_under_current_obeys_the_law_of_flow(tiny):
    """With its z at 1, both rows of a switchable line say that flow is b times the difference of angles."""
    line = next(int(column.name.split("_")[-1]) for column in tiny.variables if column.name.startswith("z_"))
    published, rows = grid("rts_gmlc"), rows_of(tiny)
    b = published.susceptance[line - 1]
    ends = [f"angle_1_{end[line - 1] + 1}" for end in (published.tail, published.head)]
    for side, sign in (("above", 1), ("below", -1)):
        entries, low, high = rows[f"law_{side}_1_{line}"]
        assert [entries[name] for name in (f"flow_1_{line}", *ends)] == [1, -b, b]
        assert entries[f"z_1_{line}"] == (high if sign > 0 else low) == sign * 2 * np.pi * abs(b)


def test_wecc_is_the_published_grid():
    wecc = grid("wecc240")
    assert (len(wecc.load), len(wecc.capacity), len(wecc.tail)) == (240, 143, 448)
    assert (int((wecc.miles == 0).sum()), int((wecc.susceptance < 0).sum())) == (125, 12)
    assert wecc.load.min() == 0
    assert np.degrees([wecc.least_angle.min(), wecc.greatest_angle.max()]) == pytest.approx([-30, 30])


def test_the_risks_of_june_have_the_totals_they_were_condensed_with():
    risk = grid("wecc240").risk
    assert risk.shape == (30, 448)
    assert [round(risk.sum(axis=1).min()), round(risk.sum(axis=1).max())] == [579, 1653]
    assert [int((risk[4] > limit).sum()) for limit in (1e-4, 1)] == [200, 120]


def test_every_file_has_its_source_and_licence_beside_it():
    described = (DATA / "DATA.md").read_text(encoding="utf-8")
    assert [path.name for path in DATA.iterdir() if f"`{path.name}`" not in described] == ["DATA.md"]
