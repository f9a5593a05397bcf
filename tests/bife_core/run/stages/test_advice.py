"""What to do after a search that found nothing: use something else, search longer, or stop."""

import pytest

from bife_core.measure.evaluation.comparison import Comparison
from bife_core.run.stages.pipeline import next_step
from bife_core.solver.methods.base import ScipMethod
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.references import load_method
from tests.support.measured import BASELINE, RULE, summary

LEAN = Configuration(name="tuned SCIP", params={"separating/maxrounds": 0})
OTHER = load_method("general")


def ended(lead, tuned=None, **others):
    """Return an evaluation of which the comparisons are as given, that of SCIP `tuned` without a rule too."""
    others |= {} if tuned is None else {LEAN.name: tuned}
    methods = {RULE.name: RULE, LEAN.name: LEAN, "general": OTHER, BASELINE.name: BASELINE}
    found = [
        Comparison(setting="these", method=name, baseline=BASELINE.name, instances=20, groups=20, **known)
        for name, known in {RULE.name: lead, **others}.items()
    ]
    return summary([1.0], [1.0]).model_copy(update={"comparisons": tuple(found), "methods": methods})


BETTER = {"ci_low": 0.6, "ci_high": 0.8, "p_value": 0.001, "p_adjusted": 0.001}
EVEN = {"ratio": 1.016, "ci_low": 0.9, "ci_high": 1.1, "further": None, "likely": None}
NEARLY = {"ratio": 0.92, "ci_low": 0.8, "ci_high": 1.05, "further": 7, "likely": 31}
FILES = {LEAN.identity: "lean.set", OTHER.identity: "general.py"}


def test_beside_a_rule_that_is_better_only_settings_that_do_as_well_are_named():
    lead = {"ratio": 0.7} | BETTER
    assert (
        next_step(ended(lead, general={"ratio": 0.6} | BETTER, tuned={"ratio": 0.71} | BETTER), FILES) == ""
    )
    found = next_step(ended(lead, tuned={"ratio": 0.69} | BETTER), FILES)
    assert found.startswith(
        "Settings without a rule do as well: lean.set. On these, tuned SCIP is faster than RPB"
    )


@pytest.mark.parametrize("lead", [EVEN, NEARLY])
def test_the_best_that_is_significantly_better_is_to_be_used(lead):
    found = next_step(ended(lead, tuned={"ratio": 0.7} | BETTER, general={"ratio": 0.75} | BETTER), FILES)
    assert found.startswith(
        "Use these settings: lean.set. On these, tuned SCIP is faster than RPB: it takes 30 % less"
    )
    rule = next_step(ended(lead, tuned=EVEN, general={"ratio": 0.75} | BETTER), FILES)
    assert rule.startswith("Use this rule: general.py. ")


def test_more_instances_are_asked_for_where_they_would_show_it():
    assert next_step(ended(NEARLY, tuned=EVEN), FILES) == (
        "Add instances: 31 more held-out instances would show it at the measured ratio, 0.920, and 7 at least; "
        "about half of a folder is held out."
    )


@pytest.mark.parametrize("lead", [EVEN, NEARLY | {"missing": 2, "solves": 20}, NEARLY | {"likely": None}])
def test_else_it_is_to_stop(lead):
    assert next_step(ended(lead, tuned=EVEN), FILES) == "Stop: nothing to gain here."


def test_a_method_without_a_file_is_nothing_to_use():
    assert ScipMethod(name="pscost").identity not in FILES
    assert next_step(ended(EVEN, tuned={"ratio": 0.7} | BETTER), {}).startswith("Stop: ")
