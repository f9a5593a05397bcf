"""Other solvers on the same instances: what they are given, and what `bife doctor --peers` says of them."""

from importlib.util import find_spec

import pytest
from pyscipopt import Model

from bife_core.base.errors import InstanceError
from bife_core.measure import peers
from bife_core.measure.peers import AT_HAND, Answer, ask, beside, rewrite
from bife_core.solver.methods.attach import solve
from tests.support.maximised import write_maximised
from tests.support.programs import FOREIGN
from tests.support.read_back import read_by_scip

LSEU = FOREIGN / "lseu.mps"


@pytest.fixture
def maximised(tmp_path):
    """A model of names with spaces; its optimum is 107.55."""
    write_maximised(tmp_path / "maximised.cip")
    return tmp_path / "maximised.cip"


def test_all_are_given_a_model_that_is_minimised_and_has_short_names(maximised, tmp_path):
    written = tmp_path / "written.mps"
    assert rewrite(maximised, written) == -1
    model = read_by_scip(written)
    assert model.getObjectiveSense() == "minimize"
    assert {variable.name for variable in model.getVars()} == {"x0", "x1", "x2", "x3"}
    model.optimize()
    assert model.getObjVal() == pytest.approx(-107.55)
    assert rewrite(LSEU, written) == 1


def test_a_model_that_is_not_linear_is_no_model_for_peers(tmp_path):
    model = Model()
    model.hideOutput()
    x, y = model.addVar("x", vtype="B"), model.addVar("y", ub=2)
    model.addConsIndicator(y <= 1, binvar=x)
    model.writeProblem(str(tmp_path / "indicator.cip"), verbose=False)
    with pytest.raises(InstanceError, match=r"indicator\.cip has constraints of type indicator"):
        rewrite(tmp_path / "indicator.cip", tmp_path / "written.mps")


@pytest.mark.parametrize("name", AT_HAND)
def test_a_solver_at_hand_finds_the_optimum_of_the_model(name, maximised, tmp_path):
    if find_spec(AT_HAND[name].package) is None:
        pytest.skip(f"{AT_HAND[name].package} is not installed")
    rewrite(maximised, written := tmp_path / "written.mps")
    for gap in (0.0, None):
        answer = ask(AT_HAND[name], written, 20.0, gap)
        assert (answer.status, answer.objective) == ("optimal", pytest.approx(-107.55))
        assert 0 < answer.cpu_s < answer.process_s
    missing = ask(AT_HAND[name], tmp_path / "nowhere.mps", 20.0)
    assert (missing.status, "cannot read" in missing.reason) == ("refused", True)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer("optimal", 1120.0, 0.02), "HiGHS is 50 times as fast here: consider it."),
        (Answer("optimal", 1120.0, 0.5), "HiGHS takes 0.50 of the CPU time of SCIP default settings."),
        (Answer("limit", None, 15.0), "HiGHS takes 15.00 of the CPU time of SCIP default settings."),
        (Answer("optimal", 1121.0, 0.1), "HiGHS refuses, fails or contradicts SCIP on 2 of 2 instances."),
        (Answer("model_invalid"), "HiGHS refuses, fails or contradicts SCIP on 2 of 2 instances."),
        (Answer("infeasible"), "HiGHS refuses, fails or contradicts SCIP on 2 of 2 instances."),
    ],
)
def test_a_sentence_says_what_a_peer_takes(monkeypatch, answer, said):
    monkeypatch.setattr(peers, "find_spec", lambda package: package == "highspy" or None)
    monkeypatch.setattr(peers, "ask", lambda *_: answer)
    usual = solve(LSEU).model_copy(update={"cpu_s": 1.0})
    assert list(beside([(LSEU, usual)] * 2, 15.0)) == [said]


def test_a_maximum_is_compared_as_such(monkeypatch, maximised):
    monkeypatch.setattr(peers, "find_spec", lambda package: package == "highspy" or None)
    monkeypatch.setattr(peers, "ask", lambda *_: Answer("optimal", -107.55, 1.0))
    usual = solve(maximised).model_copy(update={"cpu_s": 1.0})
    assert "takes 1.00" in next(beside([(maximised, usual)], 15.0))


def test_without_the_solvers_a_sentence_says_how_to_have_them(monkeypatch):
    monkeypatch.setattr(peers, "find_spec", lambda _: None)
    assert [sentence.partition(" lets")[0] for sentence in beside([], 15.0)] == [
        "`pip install highspy ortools`"
    ]
