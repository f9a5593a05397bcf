"""What a run says of a rule that a person decided against before."""

from __future__ import annotations

import pytest

from bife_core.presets import with_overrides
from flows.registration import refusal_notes, register_rule
from flows.reporting.observer import observing
from tasks.registry import CHALLENGER, Origin, by_alias
from tasks.registry.champions import refuse
from tests.flows.conftest import Diary


@pytest.fixture
def config(smoke):
    """Settings whose rules are registered under a name of their own, and where a person decides."""
    return with_overrides(smoke.config, {"instances.size": "transfer", "approval": "person"})


def test_a_run_says_why_its_rule_is_no_challenger(smoke, config):
    evaluated = smoke.result.evaluation
    first = register_rule(config, evaluated, Origin())
    assert first.aliases == (CHALLENGER,)
    assert refusal_notes(first) == ()
    refuse.fn(first.name, first.version, "Ada", "reads too many features")
    diary = Diary()
    with observing(diary):
        again = register_rule(config, evaluated, Origin())
    assert (again.version, again.aliases) == (first.version, ())
    assert by_alias(first.name, CHALLENGER) is None
    (note,) = refusal_notes(again)
    assert note in diary.notes
    assert "Ada refused it on" in note
    assert "(reads too many features)" in note
