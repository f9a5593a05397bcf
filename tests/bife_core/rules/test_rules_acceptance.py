"""What is written for BiFE is taken by its language: the references, and whatever the offline grammar writes."""

from __future__ import annotations

from bench.acceptance import acceptance, features, offline
from bife_core.rules import REFERENCE_RULES
from bife_core.rules.checked import CheckedRule, check_source


def test_every_rule_of_the_offline_grammar_is_a_scalar_program():
    found = [check_source(source) for source in offline(200, seed=0)]
    assert [rule for rule in found if not isinstance(rule, CheckedRule)] == []


def test_references_and_offline_rules_compile_and_score():
    X = features(20)
    sources = [rule.source for rule in REFERENCE_RULES.values()]
    for group in (sources, list(offline(12, seed=7))):
        counted = acceptance(group, X)
        assert counted["compiled"] == counted["rules"] == len(group), counted


def test_what_is_rejected_is_counted_with_its_reason():
    bad = "def candidate_variable_score(f):\n    return f\n"
    counted = acceptance([bad], features(1))
    assert (counted["rules"], counted["compiled"]) == (1, 0)
    assert counted["rejected"] == ["Line 2: the function returns a sequence; a score must be one number."]
