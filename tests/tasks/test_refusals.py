"""A rule a person decided against stays out until something new is known of it."""

from __future__ import annotations

import uuid

import pytest

from tasks.registry import CHALLENGER, CHAMPION, by_alias, open_case, refusal, refuse, roll_back
from tasks.tracking import store
from tests.support.challenging import beside, challenge, made_champion


@pytest.fixture
def name() -> str:
    return f"bife-test-{uuid.uuid4().hex[:8]}"


def said(word: str, at: str, digest: str = "digest") -> dict[str, str]:
    return {
        f"{word}_by": "Ada",
        f"{word}_reason": "why",
        f"{word}_at": at,
        f"{word}_test_digest": digest,
    }


def test_a_refused_rule_that_is_found_again_stays_refused(name):
    first = challenge(name, 0)
    refuse.fn(name, first.version, "Ada", "reads too many features")
    again = challenge(name, 0)
    assert (again.version, again.aliases) == (first.version, ())
    assert again.refusal.sentence.startswith("Ada refused it on 2")
    assert again.refusal.sentence.endswith("(reads too many features)")
    assert by_alias(name, CHALLENGER) is None

    elsewhere = challenge(name, 0, evolution_key="another search")
    assert (elsewhere.version, elsewhere.aliases) == (first.version + 1, ())
    assert elsewhere.tags["rejected_reason"] == "reads too many features"
    assert challenge(name, 1).refusal is None, "another rule has nothing to do with it"


def test_measured_on_other_instances_it_is_a_challenger_again_and_the_refusal_is_told(name):
    first = challenge(name, 0)
    refuse.fn(name, first.version, "Ada", "no gain on our models")
    again = challenge(name, 0, test_digest="our models")
    assert (again.version, again.aliases, again.refusal) == (first.version, (CHALLENGER,), None)
    case = open_case.fn(name)
    assert case.refused.endswith("(no gain on our models)")
    # Back on the first instances, the word of then still holds.
    assert challenge(name, 0).refusal is not None


def test_the_gate_does_not_overrule_a_person(name):
    first = challenge(name, 0)
    refuse.fn(name, first.version, "Ada", "it is not ours to use")
    assert made_champion(name, 0).aliases == ()
    assert by_alias(name, CHAMPION) is None


def test_a_champion_that_was_rolled_back_does_not_come_back_by_itself(name):
    first = made_champion(name, 0)
    second = made_champion(name, 1, **beside(0))
    assert second.aliases == (CHALLENGER, CHAMPION)
    roll_back.fn(name, "Grace", "slow on the new models")
    assert by_alias(name, CHALLENGER) is None
    again = made_champion(name, 1, **beside(0))
    assert (again.version, again.aliases) == (second.version, ())
    assert "Grace took it out of use on" in again.refusal.sentence
    assert by_alias(name, CHAMPION).version == first.version


def test_a_person_may_weigh_it_again(name):
    first = challenge(name, 0)
    refuse.fn(name, first.version, "Ada", "too early")
    store.client().set_registered_model_alias(name, CHALLENGER, str(first.version))
    case = open_case.fn(name)
    assert case.decision.promote
    assert case.refused.endswith("(too early)")
    assert challenge(name, 0).aliases == (CHALLENGER,), "registering leaves an alias alone that a person set"


@pytest.mark.parametrize(
    ("versions", "digest", "by"),
    [
        ([], None, None),
        ([{}], None, None),
        ([said("rejected", "2026-01-01")], "digest", "rejected"),
        ([said("rejected", "2026-01-01")], "other", None),
        ([said("rejected", "2026-01-01")], None, "rejected"),
        ([said("rejected", "2026-01-01") | {"approved_at": "2026-01-02"}], None, None),
        ([said("rejected", "2026-01-01"), {"approved_at": "2026-01-02"}], None, None),
        ([said("rolled_back", "2026-01-02") | {"approved_at": "2026-01-02"}], None, "rolled_back"),
        ([said("rejected", "2026-01-03"), said("rolled_back", "2026-01-02")], None, "rejected"),
        ([{"rejected_at": "2026-01-03", "test_digest": "digest"}], "digest", "rejected"),
    ],
)
def test_the_last_word_counts_as_long_as_it_was_not_taken_back(versions, digest, by):
    found = refusal(versions, digest)
    assert (None if found is None else found.word) == by
