"""Registration, and decisions by the gate and by people."""

from bife_core.methods.loading import stored_text
from tasks.registry.deciding import open_case, promote, refuse, roll_back
from tasks.registry.evidence import CHALLENGER, CHAMPION
from tasks.registry.reading import by_alias
from tasks.tracking import store
from tests.support.challenging import beside, challenge, made_champion, source


def test_the_same_rule_of_the_same_evolution_is_registered_once(name):
    first = made_champion(name, 0)
    again = made_champion(name, 0, ratio=0.75)
    assert again.version == first.version
    assert again.tags["ratio"] == "0.75"
    silent = made_champion(name, 0, ci_low=None, ci_high=None)
    assert "ci_low" not in silent.tags, "what the new evidence is silent on is known no more"
    assert made_champion(name, 0, evolution_key="another").version == first.version + 1


def test_a_champion_falls_only_to_a_better_one(name):
    assert made_champion(name, 0, ci_high=1.0).aliases == (CHALLENGER,), "it is not known to beat RPB"
    assert made_champion(name, 0).aliases == (CHALLENGER, CHAMPION)
    assert made_champion(name, 1, ratio=0.7).aliases == (CHALLENGER,), "nor to beat the champion"
    assert made_champion(name, 2, ratio=0.7, **beside(0)).aliases == (CHALLENGER, CHAMPION)
    assert stored_text(f"models:/{name}@champion") == source(2)


def test_a_challenger_that_passes_the_gate_gives_way_only_to_one_that_does(name):
    first = challenge(name, 0)
    assert challenge(name, 1, ratio=1.1, ci_low=0.9, ci_high=1.3, p_value=0.4).aliases == ()
    assert challenge(name, 2, ratio=0.95).aliases == ("challenger",)
    promote.fn(name, first.version, "a person", "faster")
    # Nothing says that it is faster than the champion there is by now.
    assert challenge(name, 3, ratio=1.1, ci_low=0.9, ci_high=1.3, p_value=0.4).aliases == ("challenger",)
    assert challenge(name, 4, **beside(0)).aliases == ("challenger",)
    assert challenge(name, 5).aliases == ()


def test_judged_by_another_metric_it_is_another_entry(name):
    first = made_champion(name, 0, metric="primal_dual_integral", time_ratio=0.987654)
    assert first.tags["metric"] == first.metric == "primal_dual_integral"
    assert "**Primal-dual integral relative to relpscost**: 0.800" in first.card
    assert "**time ratio**: 0.9877" in first.card
    assert made_champion(name, 1, ratio=0.5, **beside(0)).aliases == (CHALLENGER,)
    better = made_champion(name, 1, metric="primal_dual_integral", **beside(0))
    assert (better.version, better.aliases) == (3, (CHALLENGER, CHAMPION))


def test_measured_under_other_settings_it_is_another_entry_and_no_proof_of_the_champion(name):
    first = made_champion(name, 0, solver="", solver_digest="", solver_params="")
    assert CHAMPION in first.aliases
    rival = made_champion(name, 1, ratio=0.1, ci_low=0.05, ci_high=0.2, **beside(0))
    assert (rival.aliases, by_alias(name, CHAMPION).version) == ((CHALLENGER,), first.version)
    assert made_champion(name, 0, ratio=0.1, ci_low=0.05, ci_high=0.2).version == 3
    assert open_case.fn(name).decision.reason.startswith(
        "It takes 0.100 of RPB's CPU time under SCIP default settings, but the champion was measured under settings "
        "that were not recorded, and only"
    )


def test_a_refused_rule_that_is_found_again_stays_refused(name):
    first = challenge(name, 0)
    refuse.fn(name, first.version, "Ada", "reads too many features")
    again = challenge(name, 0)
    assert (again.version, again.aliases) == (first.version, ())
    assert again.refusal.startswith("Ada refused it on 2")
    assert again.refusal.endswith("(reads too many features)")
    assert by_alias(name, CHALLENGER) is None

    elsewhere = challenge(name, 0, evolution_key="another search")
    assert (elsewhere.version, elsewhere.aliases) == (first.version + 1, ())
    assert elsewhere.tags["rejected_reason"] == "reads too many features"
    assert not challenge(name, 1).refusal, "another rule has nothing to do with it"


def test_measured_on_other_instances_it_is_a_challenger_again_and_the_refusal_is_told(name):
    first = challenge(name, 0)
    refuse.fn(name, first.version, "Ada", "no gain on our models")
    again = challenge(name, 0, test_digest="our models")
    assert (again.version, again.aliases, again.refusal) == (first.version, (CHALLENGER,), "")
    case = open_case.fn(name)
    assert case.refused.endswith("(no gain on our models)")
    # Back on the first instances, the word of then still holds.
    assert challenge(name, 0).refusal


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
    assert "Grace took it out of use on" in again.refusal
    assert by_alias(name, CHAMPION).version == first.version


def test_a_person_may_weigh_it_again(name):
    first = challenge(name, 0)
    refuse.fn(name, first.version, "Ada", "too early")
    store.client().set_registered_model_alias(name, CHALLENGER, str(first.version))
    case = open_case.fn(name)
    assert case.decision.promote
    assert case.refused.endswith("(too early)")
    assert challenge(name, 0).aliases == (CHALLENGER,), "registering leaves an alias alone that a person set"
    promote.fn(name, first.version, "Ada", "now it is time")
    assert not challenge(name, 0, evolution_key="another").refusal, "it was taken back"
