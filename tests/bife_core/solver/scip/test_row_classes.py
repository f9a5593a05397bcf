"""Classes of rows: the same for the same rows however they are written, and rows on demand that change no optimum."""

import pyscipopt
import pytest
from pydantic import ValidationError

from bife_core.base.errors import RuleError
from bife_core.solver.methods.attach import attach, solve
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.references import beside_branching, load_method, method_of
from bife_core.solver.scip.row_classes import Rows
from bife_core.tuning.large_classes import family_facts
from bife_core.tuning.space import ROWS, Space, choices_text
from tests.support.instances import locations

LINK = "rows/link/c_minus_b_le_0"


KINDS = {"x": "C", "y": "C", "i": "I", "a": "B", "b": "B", "d": "B"}


def classes_of(*rows):
    """The classes of rows, each a name, its coefficients, and its sides."""
    model = pyscipopt.Model()
    variables = {
        name: model.addVar(name, vtype=kind, ub={"B": 1, "I": 9}.get(kind)) for name, kind in KINDS.items()
    }
    for name, coefficients, low, high in rows:
        total = pyscipopt.quicksum(value * variables[of] for of, value in coefficients.items())
        model.addCons(pyscipopt.ExprCons(total, low, high), name=name)
    return Rows(model).counts


@pytest.mark.parametrize(
    ("rows", "name"),
    [
        (
            [
                ("link_1", {"x": 1, "a": -1}, None, 0),
                ("link(2)", {"a": 3, "x": -3}, 0, None),
                ("link", {"x": 1, "a": -8}, None, 0),
            ],
            LINK,
        ),
        (
            [
                ("c1", {"a": 1, "b": 1}, None, 1),
                ("_C2", {"a": -2, "b": -2}, -2, None),
                ("", {"a": 1, "b": 1}, None, 3),
            ],
            "rows/2b_le_pos",
        ),
        (
            [
                ("cover", {"a": 1, "b": 1, "d": 1}, 1, None),
                ("cover[1]", {"a": -1, "b": -1, "d": -1}, None, -1),
            ],
            "rows/cover/nb_ge_pos",
        ),
        ([("R1", {"a": 2, "b": 3, "d": 1}, None, 4)], "rows/nb_weighted_le_pos"),
        ([("flow_a", {"x": 2, "y": 3, "i": 1, "a": -4}, None, 0)], "rows/flow/i_2c_weighted_minus_b_le_0"),
        ([("least", {"x": 1, "y": 1}, -2, None)], "rows/least/2c_ge_neg"),
        ([("both", {"x": 1, "y": -1}, -3, 5)], "rows/both/c_minus_c_range_pos"),
    ],
)
def test_a_row_has_its_class_however_it_is_turned(rows, name):
    assert classes_of(*rows) == {name: len(rows)}
    assert Configuration(on_demand=(name,)).on_demand == (name,)


def test_an_equation_and_a_free_row_have_none():
    both = {"x": 1, "y": 1}
    assert classes_of(("demand", both, 1, 1), ("free", both, -1e30, None)) == {}


def first_lp_rows(model):
    """Rows of the LP when it is solved first."""
    sizes = []

    class Count(pyscipopt.Eventhdlr):
        def eventinit(self):
            self.model.catchEvent(pyscipopt.SCIP_EVENTTYPE.FIRSTLPSOLVED, self)

        def eventexec(self, event):
            sizes.append(self.model.getNLPRows())

    model.setPresolve(pyscipopt.SCIP_PARAMSETTING.OFF)
    model.setSeparating(pyscipopt.SCIP_PARAMSETTING.OFF)
    model.includeEventhdlr(Count(), "count", "")
    model.optimize()
    return sizes[0], round(model.getObjVal(), 6)


def test_rows_on_demand_enter_the_lp_when_they_are_violated_and_the_optimum_stays():
    links = 6 * 18
    whole, optimum = first_lp_rows(locations())
    assert whole == links + 18
    model = locations()
    assert Rows(model).put_on_demand([LINK]) == links
    on_demand, same = first_lp_rows(model)
    assert on_demand < whole - links / 2
    assert same == optimum


def test_a_configuration_puts_them_on_demand(tmp_path):
    locations(12).writeProblem(str(file := tmp_path / "model.lp"), verbose=False)
    found = Configuration(params={"presolving/maxrounds": 0}, on_demand=(LINK, LINK))
    by_method = solve(file, found)
    assert found.on_demand == (LINK,)
    plain = solve(file, Configuration(params=found.params))
    assert plain.primal_bound == pytest.approx(by_method.primal_bound)
    assert plain.lp_iterations != by_method.lp_iterations


def test_a_configuration_with_rows_is_json_and_its_settings_say_what_they_lack(tmp_path):
    found = Configuration(params={"separating/maxrounds": 0}, on_demand=(LINK,))
    assert method_of(found.text, "found") == found
    assert found.identity not in (Configuration(params=found.params).identity, Configuration().identity)
    assert beside_branching(found) != beside_branching(Configuration(params=found.params))
    complete, settings = found.files(tmp_path / "found.set").items()
    assert complete[0].name == "found.json"
    (file := tmp_path / "found.set").write_text(settings[1])
    with pytest.raises(RuleError, match=r"without its rows on demand; give found\.json as"):
        load_method(str(file))
    with_rule = found.model_copy(update={"branching": load_method("general")})
    assert "# Without what branches and its rows on demand, which" in with_rule.files(file)[file]
    with pytest.raises(ValidationError, match="should match pattern"):
        Configuration(on_demand=("link",))


def test_where_names_are_lost_the_form_counts():
    for name, put in (("c", 108), ("", 108), ("other", 0)):
        assert Rows(locations(link=name)).put_on_demand([LINK]) == put


def test_a_model_without_such_rows_is_solved_with_a_warning():
    model = pyscipopt.Model()
    model.hideOutput()
    x = model.addVar("x", vtype="B", obj=-1)
    model.addCons(x <= 1, name="one")
    with pytest.warns(UserWarning, match=f"puts no row on demand: the model has none of {LINK}"):
        attach(model, Configuration(on_demand=(LINK,)))
    model.optimize()
    assert model.getObjVal() == -1


def test_large_classes_are_tuned_and_each_is_shown_by_a_row(tmp_path):
    paths = [str(tmp_path / f"{k}.lp") for k in range(2)]
    for path, size in zip(paths, (6, 7), strict=True):
        locations(size).writeProblem(path, verbose=False)
    classes = family_facts(paths).classes
    assert list(classes) == [LINK]
    assert classes[LINK].startswith("86 % of the rows, such as link_0_0: ")
    space = Space({}, facts=family_facts(paths))
    assert [row.name for row in space.rows if row.group == ROWS] == [LINK]
    assert space.configuration({LINK: "on_demand"}) == Configuration(on_demand=(LINK,))
    assert choices_text({LINK: "on_demand", "separating": "off"}) == f"{LINK} on demand, separating off"
    (other := tmp_path / "other.lp").write_text("Minimize\n o: x\nSubject To\n c: x >= 1\nEnd\n")
    assert family_facts([*paths, str(other)]).classes == {}
