"""A rule fitted in a worker: what the search gets, with and without decisions."""

import sys
from collections import UserDict

import pytest

from bife_core.language.rules import REFERENCE_RULES, CompiledRule, compile_rule
from bife_core.language.rules.reference_rules import ReferenceRule
from bife_core.measure.config import LowFidelityConfig
from bife_core.measure.low import score_low
from bife_core.run.study.evaluator import room_for
from bife_core.search.generators import GeneratorConfig, PromptContext, open_generator
from bife_core.search.generators.offline.expression import Leaf, product
from bife_core.search.types import Sample, SampleRequest
from bife_core.workers import InProcess, WorkerPool
from tests.support.recorded import planted
from tests.support.stored import account_at


@pytest.fixture
def recorded(tmp_path):
    path = tmp_path / "decisions.npz"
    planted(40, product((Leaf(18), 1.0), (Leaf(24), 1.0)), doubt=0.1).save(path)
    return path


def fitted(recorded, children, *parents, workers=None, **further):
    training = {"terms": 2, "children": children, "rank": 0, "niche": 0, "seed": 7, "parents": parents}
    asked = {"search": "symbolic", "decisions": str(recorded), "folder": str(recorded.parent)}
    asked["training"] = training | {"others": ()} | further
    allowed = {"limit_s": 300.0, "memory_mb": room_for(recorded), "reads": [recorded]}
    return (workers or InProcess()).submit("bife_core.search.base:train_rule", asked, **allowed).result()


def test_a_worker_fits_what_this_process_does(recorded, pool):
    here, there = fitted(recorded, 40), fitted(recorded, 40, workers=pool)
    assert there | {"seconds": here["seconds"]} == here
    assert isinstance(compile_rule(here["source"]), CompiledRule)
    assert here["thought"].startswith("Fitted to the recorded decisions, bred: ")


def test_a_bred_child_is_another_rule_than_its_parent(recorded):
    parent = fitted(recorded, 0)
    assert "one by one" in parent["thought"]
    assert fitted(recorded, 40, parent["source"])["source"] != parent["source"]


def test_requests_of_a_generation_make_other_rules_of_the_same_decisions(recorded):
    sources = [fitted(recorded, 40, rank=rank)["source"] for rank in (0, 1)]
    assert sources[0] != sources[1]
    assert fitted(recorded, 40, others=sources[:1])["source"] == sources[1]


class Forbidden(UserDict[str, ReferenceRule]):
    """A library that nobody may read."""

    def __getitem__(self, name):
        raise AssertionError(f"The reference rule {name} was read.")


def test_rules_from_nothing_are_made_without_the_reference_library(recorded, tmp_path, monkeypatch):
    forbidden = Forbidden()
    forbidden.data.update(REFERENCE_RULES)
    for module in list(sys.modules.values()):
        if getattr(module, "REFERENCE_RULES", None) is REFERENCE_RULES:
            monkeypatch.setattr(module, "REFERENCE_RULES", forbidden)
    parent = Sample(id="p0", generation=0, operator="fit", source=fitted(recorded, 40)["source"])
    generator = open_generator(GeneratorConfig(), account_at(tmp_path))
    for operator in ("i1", "e1", "e2", "m1", "m2"):
        asked = SampleRequest(id="g01-c00", generation=1, operator=operator, parents=(parent,), seed=7)
        draft = generator.generate(asked, PromptContext(benchmark="any"))
        assert score_low(draft.source, recorded, LowFidelityConfig(), InProcess()).f_lf is not None


@pytest.mark.long
def test_a_worker_has_room_for_what_a_thousand_decisions_of_large_models_need(tmp_path):
    path = tmp_path / "decisions.npz"
    planted(1000, product((Leaf(18), 1.0), (Leaf(24), 0.5)), candidates=400).save(path)
    with WorkerPool(1) as pool:
        assert "source" in fitted(path, 20, terms=4, workers=pool)
