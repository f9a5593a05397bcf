from __future__ import annotations

import numpy as np
import pytest

from bife_core.benchmarks.grids import DATA, GRIDS, grid, tables


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


def test_the_loads_are_shares_of_the_annual_peak():
    factors = grid("wecc240").load_factors
    assert factors["hour_1"][:3].round(3).tolist() == [0.489, 0.473, 0.462]
    assert factors["peak"][9:12].round(3).tolist() == [0.927, 0.962, 0.889]


def test_rts_has_no_load_on_record_and_angles_within_sixty_degrees():
    rts = grid("rts_gmlc")
    assert (len(rts.load), len(rts.capacity), rts.risk.shape) == (73, 96, (62, 120))
    assert rts.load_factors == {}
    assert np.degrees([rts.least_angle.min(), rts.greatest_angle.max()]) == pytest.approx([-60, 60])


def test_a_transformer_starts_no_fire():
    rts = grid("rts_gmlc")
    assert rts.risk[:, rts.miles == 0].max() == 0


def test_every_file_has_its_source_and_licence_beside_it():
    told = (DATA / "DATA.md").read_text(encoding="utf-8")
    shipped = {path.name for path in DATA.iterdir()} - {"DATA.md"}
    assert {path.name for name in GRIDS for path in tables(name).values()} <= shipped
    assert [name for name in shipped if f"`{name}`" not in told] == []
