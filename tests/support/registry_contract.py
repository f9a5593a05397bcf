"""What every registry has to do: `Keeping` is what a subclass implements, `Deciding` what follows from it."""

import pytest

from bife_core.base.errors import RuleError
from bife_core.registry.base import GATE, PromotionError
from bife_core.registry.evidence import CHALLENGER, CHAMPION
from bife_core.solver.methods.references import method_of, with_budget
from tests.support.registered import beside, evidence, source

UNPROVEN = {"ratio": 1.1, "ci_low": 0.9, "ci_high": 1.3, "p_value": 0.4}


class Keeping:
    """Versions, tags and aliases. Fixtures `registry` and `name` give what is tested."""

    @staticmethod
    def run():
        """Return the run of an evaluation."""
        return ""

    def challenge(self, registry, name, number, *, by_gate=False, **known):
        """Register a rule as an evaluation would."""
        known = {"evaluation_run": self.run(), **known}
        return registry.register(name, source(number), evidence(number, **known), by_gate)

    def test_versions_are_found_by_alias_number_hash_and_reference(self, registry, name):
        one, other = (self.challenge(registry, name, n) for n in (0, 1))
        assert (one.version, one.aliases, other.version) == (1, (CHALLENGER,), 2)
        assert registry.find(name, CHALLENGER).version == 2
        assert registry.find(name, 1).evidence.sha == one.sha
        held = [(rule.version, rule.aliases) for rule in registry.versions(name)]
        assert held == [(2, (CHALLENGER,)), (1, ())]
        assert [rule.version for rule in registry.versions(name, one.sha)] == [1]
        assert {rule.version for rule in registry.versions() if rule.name == name} == {1, 2}
        assert registry.registered(f"models:/{name}@{CHALLENGER}") == registry.registered(other.reference)
        for nothing in (
            f"models:/{name}/3",
            f"models:/{name}@{CHAMPION}",
            "models:/bife-none/1",
            "models:/a",
        ):
            with pytest.raises(RuleError, match=r"holds no|names no registered rule"):
                registry.registered(nothing)

    def test_tags_cards_and_aliases_change_and_the_rest_stays(self, registry, name):
        method, known = method_of(source(0)), evidence(0, evaluation_run=self.run())
        with registry.held(name):
            tags = {"sha": known.sha, "a": "1", "b": "2"}
            assert [registry.create(name, method, known, tags, "a card") for _ in range(2)] == [1, 2]
            registry.update(name, 1, {"b": "3", "c": "4"}, without=["a"])
            first = registry.find(name, 1)
            assert {key: first.tags.get(key) for key in ("sha", "a", "b", "c")} == {
                "sha": known.sha, "a": None, "b": "3", "c": "4",
            }  # fmt: skip
            registry.update(name, 1, {}, card="another")
            assert [rule.card for rule in registry.versions(name)] == ["a card", "another"]
            for number in (1, 2):
                registry.set_alias(name, CHAMPION, number)
                held = {rule.version: rule.aliases for rule in registry.versions(name)}
                assert held == {number: (CHAMPION,), 3 - number: ()}
            registry.set_alias(name, CHAMPION, None)
            assert registry.find(name, CHAMPION) is None

    def test_a_champion_is_replaced_rolled_back_and_stays_out_of_use(self, registry, name, monkeypatch):
        heard = []
        monkeypatch.setattr(type(registry), "champion_changed", lambda _, **change: heard.append(change))
        first = self.challenge(registry, name, 0, by_gate=True)
        second = self.challenge(registry, name, 1, by_gate=True, **beside(0))
        assert first.aliases == second.aliases == (CHALLENGER, CHAMPION)
        assert (second.replaced, second.tags["approved_by"]) == ("1", "the statistical gate")
        change = registry.roll_back(name, "Grace", "slow on the new models", 2)
        assert (change.version, change.sentence) == (1, f"Version 1 of {name} is champion")
        assert registry.find(name, CHALLENGER) is None
        again = self.challenge(registry, name, 1, by_gate=True, **beside(0))
        assert (again.version, again.aliases) == (2, ())
        assert "Grace took it out of use on" in again.refusal
        restored = registry.find(name, CHAMPION)
        assert (restored.version, restored.ungated) == (1, False)
        with pytest.raises(PromotionError, match="another champion than version 2"):
            registry.roll_back(name, "Grace", "again", 2)
        assert not registry.roll_back(name, "Grace", "it too").champion
        with pytest.raises(PromotionError, match="no champion"):
            registry.roll_back(name, "Grace", "once more")
        moves = [(change["version"], change["before"], change["by"]) for change in heard]
        assert moves == [(1, None, GATE), (2, 1, GATE), (1, 2, "Grace"), (None, 1, "Grace")]
        registry.set_alias(name, CHAMPION, 2)  # by hand: nobody has promoted it since
        assert registry.find(name, CHAMPION).ungated

    def test_a_former_champion_that_gets_its_alias_back_by_hand_is_said_to(self, registry, name):
        first = self.challenge(registry, name, 0, by_gate=True)
        second = self.challenge(registry, name, 1, by_gate=True, **beside(0))
        registry.set_alias(name, CHAMPION, first.version)
        assert registry.find(name, CHAMPION).ungated
        registry.keep(name, first.version, "Ada", "as measured")
        assert registry.find(name, CHAMPION).tags["kept_reason"] == "as measured"
        registry.promote(name, second.version, "Ada", "faster")
        assert not registry.find(name, CHAMPION).ungated
        registry.promote(name, first.version, "Ada", "now it is time")
        assert not registry.find(name, CHAMPION).ungated


class Deciding(Keeping):
    """Registration, and decisions by the gate and by people."""

    def test_the_same_rule_of_the_same_search_is_registered_once(self, registry, name):
        first = self.challenge(registry, name, 0)
        again = self.challenge(registry, name, 0, ratio=0.75)
        assert (again.version, again.tags["ratio"]) == (first.version, "0.75")
        silent = self.challenge(registry, name, 0, ci_low=None, ci_high=None)
        assert "ci_low" not in silent.tags, "what the new evidence is silent on is known no more"
        assert self.challenge(registry, name, 0, search_key="another").version == first.version + 1

    def test_a_champion_falls_only_to_a_better_one(self, registry, name):
        for number, known, aliases in (
            (0, {"ci_high": 1.0}, (CHALLENGER,)),  # it is not known to beat RPB
            (0, {}, (CHALLENGER, CHAMPION)),
            (1, {"ratio": 0.7}, (CHALLENGER,)),  # nor to beat the champion
            (2, beside(0), (CHALLENGER, CHAMPION)),
        ):
            assert self.challenge(registry, name, number, by_gate=True, **known).aliases == aliases

    def test_a_challenger_that_passes_the_gate_gives_way_only_to_one_that_does(self, registry, name):
        first = self.challenge(registry, name, 0)
        assert self.challenge(registry, name, 1, **UNPROVEN).aliases == ()
        assert self.challenge(registry, name, 2, ratio=0.95).aliases == (CHALLENGER,)
        registry.promote(name, first.version, "a person", "faster")
        # Nothing says that it is faster than the champion there is by now.
        assert self.challenge(registry, name, 3, **UNPROVEN).aliases == (CHALLENGER,)
        assert self.challenge(registry, name, 4, **beside(0)).aliases == (CHALLENGER,)
        assert self.challenge(registry, name, 5).aliases == ()

    def test_a_card_works_as_it_stands_and_claims_no_more_than_was_measured(self, registry, name):
        self.challenge(registry, name, 0)
        method = with_budget(method_of(source(1)), 0.7)
        known = evidence(1, evaluation_run=self.run(), sha=method.identity, size="", **UNPROVEN)
        for _ in range(2):  # the second time the version and its card are there
            second = registry.register(name, method.text, known)
            assert second.card.startswith("## 1.100 of RPB's CPU time, not significant\n")
            assert f"bife_core.attach(model, 'models:/{name}/2')" in second.card
            assert f"bife export models:/{name}/2 " in second.card
            assert "RPB has a budget of 0.7 before the rule branches." in second.card
            assert "size" not in second.card.partition("```")[0]

    def test_judged_by_another_metric_it_is_another_entry(self, registry, name):
        integral = {"metric": "primal_dual_integral", "by_gate": True}
        first = self.challenge(registry, name, 0, time_ratio=0.987654, **integral)
        assert first.tags["metric"] == first.metric == "primal_dual_integral"
        head = "## 0.800 of RPB's primal-dual integral\n\n95 % interval 0.700 to 0.900, p = 0.001;"
        assert first.card.startswith(head)
        assert "CPU time: 0.988 of the baseline's" in first.card
        assert "under SCIP default settings" in first.card
        assert f"--rule models:/{name}/1" in first.card
        assert source(0).rstrip() in first.card
        by_time = self.challenge(registry, name, 1, by_gate=True, ratio=0.5, **beside(0))
        assert by_time.aliases == (CHALLENGER,)
        better = self.challenge(registry, name, 1, **integral, **beside(0))
        assert (better.version, better.aliases) == (3, (CHALLENGER, CHAMPION))

    def test_measured_under_other_settings_it_is_another_entry_and_no_proof(self, registry, name):
        unknown = {"solver": "", "solver_digest": "", "solver_params": ""}
        first = self.challenge(registry, name, 0, by_gate=True, **unknown)
        much = {"ratio": 0.1, "ci_low": 0.05, "ci_high": 0.2, "by_gate": True}
        assert self.challenge(registry, name, 1, **much, **beside(0)).aliases == (CHALLENGER,)
        assert registry.find(name, CHAMPION).version == first.version
        assert self.challenge(registry, name, 0, **much).version == 3
        assert "under settings that were not recorded, and only" in registry.open_case(name).decision.sentence

    def test_a_refused_rule_that_is_found_again_stays_refused(self, registry, name):
        first = self.challenge(registry, name, 0)
        registry.refuse(name, first.version, "Ada", "reads too many features")
        again = self.challenge(registry, name, 0, by_gate=True)
        assert (again.version, again.aliases) == (first.version, ()), "the gate does not overrule a person"
        assert again.refusal.startswith("Ada refused it on 2")
        assert again.refusal.endswith("(reads too many features)")
        assert registry.find(name, CHALLENGER) is None
        elsewhere = self.challenge(registry, name, 0, search_key="another search")
        assert (elsewhere.version, elsewhere.aliases) == (first.version + 1, ())
        assert elsewhere.tags["rejected_reason"] == "reads too many features"
        assert not self.challenge(registry, name, 1).refusal, "another rule has nothing to do with it"

    def test_measured_on_other_instances_it_is_a_challenger_again(self, registry, name):
        first = self.challenge(registry, name, 0)
        registry.refuse(name, first.version, "Ada", "no gain on our models")
        again = self.challenge(registry, name, 0, test_digest="our models")
        assert (again.version, again.aliases, again.refusal) == (first.version, (CHALLENGER,), "")
        assert registry.open_case(name).refused.endswith("(no gain on our models)")
        # Back on the first instances, the word of then still holds.
        assert self.challenge(registry, name, 0).refusal

    def test_a_person_may_weigh_it_again(self, registry, name):
        first = self.challenge(registry, name, 0)
        registry.refuse(name, first.version, "Ada", "too early")
        registry.set_alias(name, CHALLENGER, first.version)
        case = registry.open_case(name)
        assert (case.decision.promote, case.champion) == (True, None)
        assert self.challenge(registry, name, 0).aliases == (CHALLENGER,), "an alias that a person set stays"
        registry.promote(name, first.version, "Ada", "now it is time")
        assert not self.challenge(registry, name, 0, search_key="another").refusal, "it was taken back"

    def test_a_case_needs_a_challenger_that_is_not_champion(self, registry, name):
        with pytest.raises(PromotionError, match="no evaluated challenger"):
            registry.open_case(name)
        self.challenge(registry, name, 0, by_gate=True)
        with pytest.raises(PromotionError, match=r"its challenger, is champion already\."):
            registry.open_case(name)
        by_hand = self.challenge(registry, f"{name}-2", 1)
        registry.set_alias(by_hand.name, CHAMPION, by_hand.version)
        with pytest.raises(PromotionError, match=r"is champion already \(alias set by hand"):
            registry.open_case(by_hand.name)
