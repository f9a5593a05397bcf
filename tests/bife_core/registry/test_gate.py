"""The gate: what evidence makes a champion, and what it says where it does not."""

import pytest

from bife_core.registry.evidence import gate
from bife_core.solver.scip.settings import SolverConfig
from tests.support.registered import beside, evidence, under

BESIDE = beside(0)


@pytest.mark.parametrize(
    ("known", "sentence"),
    [
        ({"baseline": "pscost"}, "compared with pscost"),
        ({"metric": "nodes"}, "It was judged by nodes, and fewer nodes make no champion."),
        ({"mismatches": 1}, "which is a defect"),
        ({"bound": None, "further": None}, "its ratio may be up to unknown"),
        (
            {"bound": 1.1, "further": 7, "likely": 9, "groups": 5, "use": 2},
            "on 20 held-out instances in 5 groups at use 2 of some of them, but its ratio may be up to 1.100 if groups "
            "not seen are up to 4.4 times slower, which 9 more groups of the measured ratio, 0.800, would exclude.",
        ),
        (
            {"ratio": 1.016, "ci_low": 0.95, "ci_high": 1.08, "p_value": 0.4, "bound": 1.4, "further": 73},
            "It is not known to be faster than RPB: 1.016 of RPB's CPU time, interval 0.950 to 1.080, p = 0.4.",
        ),
        (
            {"slower": 4, "slower_share": 0.34},
            "up to 34 % of instances may be more than 1.25 times slower (4 of",
        ),
        ({"baseline_missing": 1}, "1 of the baseline's 20 solves is missing"),
        ({"ci_low": None, "ci_high": None}, "no interval"),
        ({"ci_high": 1.0}, "not known to be faster"),
        ({"p_value": 0.06}, "not known to be faster"),
        ({"missing": 1}, "1 of its 20 solves is missing"),
        ({"proofs": 19}, "it finishes 19 of 20 solves, the baseline 20"),
        ({"ratio": 0.5}, "not measured side by side"),
        (BESIDE | {"champion_sha": "another"}, "not measured side by side"),
        (
            BESIDE | {"champion_ci_high": 1.0},
            "0.750 of the champion's (interval 0.700 to 1.000, p = 0.001): it may be slower",
        ),
        (BESIDE | {"champion_p_value": 0.06}, "p = 0.06): it may be slower"),
        (BESIDE | {"champion_ci_low": None, "champion_ci_high": None}, "no interval"),
        (BESIDE | {"champion_obstacle": "1 of its 20 solves is missing"}, "beside the champion 1 of its 20"),
        (
            BESIDE | {"metric": "primal_dual_integral"},
            "It takes 0.800 of RPB's primal-dual integral, but the champion was judged by CPU time, and only rules "
            "judged by the same metric compete; evaluate it by CPU time too (evaluation.metric=time).",
        ),
        (
            BESIDE | under(SolverConfig(name="paper")),
            "It takes 0.800 of RPB's CPU time under paper settings, but the champion was measured under SCIP default "
            "settings, and only rules measured under the same settings of SCIP compete.",
        ),
    ],
)
def test_the_gate_says_why_not(known, sentence):
    decision = gate(evidence(1, **known), evidence(0))
    assert not decision.promote
    assert sentence in decision.sentence


def test_the_gate_opens_to_a_rule_that_beats_rpb_and_the_champion_beside_it():
    assert gate(evidence(1), None).promote
    assert gate(evidence(0), evidence(0)).promote, "the same rule, registered again"
    decision = gate(evidence(1, ratio=0.9, **BESIDE), evidence(0, ratio=0.7))
    assert decision.promote, "two ratios from two evaluations do not count"
    assert "0.750 of the champion's (interval 0.700 to 0.800, p = 0.001)" in decision.sentence
