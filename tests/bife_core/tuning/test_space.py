"""The table of settings: what SCIP has, each choice changes something, and conditions hold."""

from itertools import chain

import pytest

from bife_core.base.errors import ConfigError
from bife_core.solver.methods.base import RPB
from bife_core.solver.methods.references import load_method
from bife_core.solver.scip.settings import usual_parameters
from bife_core.tuning.space import BRANCHING, Space, table

METHODS = {name: load_method(name) for name in ("general", "pscost")}
SPACE = Space(METHODS)


def needed(name):
    """Choices under which a row counts."""
    row = next(row for row in SPACE.rows if row.name == name)
    found = {}
    for other, wanted, values in row.conditions[0]:
        usual = next(one for one in SPACE.rows if one.name == other).choices[0]
        if (usual in values) is not wanted:
            found |= {other: values[0]}
    return found


@pytest.mark.parametrize("row", table(), ids=lambda row: row.name)
def test_every_row_begins_with_what_scip_does_and_every_choice_changes_it(row):
    own = next(one for one in SPACE.rows if one.name == row.name)
    if "/" in row.name:
        usual = usual_parameters()[row.name]
        first = own.choices[0]
        usual = str(usual).upper() if isinstance(usual, bool) else usual
        assert first == usual or float(first) == usual
    assert row.description
    base = SPACE.configuration(needed(row.name))
    found = [SPACE.configuration(needed(row.name) | {row.name: choice}) for choice in own.choices]
    assert found[0] == base
    assert len({one.identity for one in found}) == len(found)


def test_conditions_refer_to_rows_before_and_to_choices_they_have():
    names = [row.name for row in SPACE.rows]
    for row in SPACE.rows:
        for name, _, values in chain(*row.conditions):
            assert names.index(name) < names.index(row.name)
            assert set(values) <= set(next(one for one in SPACE.rows if one.name == name).choices)


def test_what_does_not_count_is_left_out():
    given = {"separating": "off", "separating/maxrounds": "0"}
    given |= {"branching": "general", "branching/scorefunc": "q"}
    assert SPACE.counting(given) == {"separating": "off", "branching": "general"}
    assert SPACE.counting({"separating": "default", "branching": RPB}) == {}
    with pytest.raises(ConfigError, match=r"separating is no 'of'; choose of default, fast, aggressive, off"):
        SPACE.counting({"separating": "of"})


def test_a_single_parameter_wins_over_an_emphasis_and_an_emphasis_never_names_what_branches():
    off = SPACE.configuration({"heuristics": "fast", "heuristics/rins/freq": "-1"}).params
    assert off["heuristics/rins/freq"] == -1
    assert len(off) > 10
    for choice in next(row for row in SPACE.rows if row.name == "emphasis").choices:
        found = SPACE.configuration({"emphasis": choice})
        assert found.branching.identity == RPB
        assert not any(name.endswith("/priority") for name in found.params if name.startswith("branching/"))


def test_single_separators_stay_on_where_separating_is_off():
    off = {"separating": "off"}
    every, some = (
        SPACE.configuration(choices).params for choices in (off, off | {"separators": "clique+zerohalf"})
    )
    assert {name for name in every if name not in some} == {"separating/clique/freq"}
    assert {name for name in some if some[name] != every[name]} == {"separating/zerohalf/freq"}
    assert some["separating/zerohalf/freq"] == 0
    covers = SPACE.configuration(off | {"separators": "knapsack"}).params
    assert {name for name in every if name not in covers} == {"constraints/knapsack/sepafreq"}
    cycles = SPACE.configuration(off | {"separators": "oddcycle"}).params
    assert {name: value for name, value in cycles.items() if "oddcycle" in name} == {
        "separating/oddcycle/freq": 0,  # which is off by default
        "separating/oddcycle/maxroundsroot": -1,
        "separating/oddcycle/maxunsucessfull": 10,
        "separating/oddcycle/usegls": False,
    }
    assert SPACE.counting({"separators": "clique"}) == {}


def test_rounding_and_rens_stay_on_where_heuristics_are_off():
    off = {"heuristics": "off"}
    every, *kept = (
        SPACE.configuration(off | {"rounding": choice}).params for choice in ("off", "simple", "more", "all")
    )
    assert [sorted(every.keys() - params.keys()) for params in kept] == [
        sorted(f"heuristics/{name}/freq" for name in names)
        for names in (
            ("simplerounding",),
            ("simplerounding", "rounding"),
            ("simplerounding", "rounding", "shifting", "zirounding", "oneopt"),
        )
    ]
    assert SPACE.counting({"rounding": "all", "rens": "root"}) == {}
    with_rens = SPACE.configuration(off | {"rens": "root"}).params
    assert every.keys() - with_rens.keys() == {"heuristics/rens/freq"}


def test_rounds_count_where_some_separator_is_on():
    rounds = {"separating/maxroundsroot": "10"}
    assert SPACE.counting(rounds) == rounds
    assert SPACE.counting({"separating": "off"} | rounds) == {"separating": "off"}
    alone = {"separating": "off", "separators": "clique+oddcycle"} | rounds
    assert SPACE.counting(alone) == alone
    assert SPACE.configuration(alone).params["separating/maxroundsroot"] == 10


def test_groups_and_fixed_parameters_narrow_it():
    some = Space(METHODS, groups=("separating", "branching"), fixed=("separating/maxrounds",))
    assert {row.group for row in some.rows} == {"separating", "branching"}
    assert "separating/maxrounds" not in some.configuration({"separating": "off"}).params
    assert some.counting({"heuristics": "off", "separating/maxrounds": "0"}) == {}
    assert Space({}, groups=("LP",)).configuration({BRANCHING: "pscost"}).identity == RPB
    with pytest.raises(ConfigError, match="no group 'cuts' to tune; choose of whole solver, presolving"):
        Space(METHODS, groups=("cuts",))


def test_what_is_to_stay_must_exist():
    assert "lp/pricing" not in [row.name for row in Space(METHODS, fixed=["lp/pricing", "limits/gap"]).rows]
    with pytest.raises(ConfigError, match="There is no 'lp/prising' to leave as it is"):
        Space(METHODS, fixed=["lp/prising"])


def test_start_methods_are_choices():
    assert SPACE.configuration({"start": "local_search", "separating": "off"}).start.name == "local_search"
    assert SPACE.configuration({"start": "none"}).identity == RPB
    with pytest.raises(ConfigError, match="start is no 'family'; choose of none, restricted, local_search"):
        SPACE.configuration({"start": "family"})
