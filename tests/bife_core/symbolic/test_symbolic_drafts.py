"""A rule fitted in a worker: what the search gets, with and without decisions."""

from __future__ import annotations

import sys
from collections import UserDict
from pathlib import Path

import pytest

from bife_core.fidelity.config import LowFidelityConfig
from bife_core.fidelity.low import score_low
from bife_core.generators import GeneratorConfig, PromptContext, open_generator
from bife_core.generators.offline.expression import Leaf, product
from bife_core.rules import REFERENCE_RULES, CompiledRule, compile_rule
from bife_core.rules.reference_rules import ReferenceRule
from bife_core.sandbox import InProcess, WorkerPool
from bife_core.search.types import Fit, Sample, SampleRequest
from bife_core.symbolic.drafting import fit_draft
from tests.support.recorded import planted
from tests.support.stored import account_at


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    path = tmp_path / "decisions.npz"
    planted(40, product((Leaf(18), 1.0), (Leaf(24), 1.0)), doubt=0.1).save(path)
    return path


def request(children: int, *parents: str) -> SampleRequest:
    shown = tuple(
        Sample(id=f"p{i}", generation=0, operator="fit", source=source) for i, source in enumerate(parents)
    )
    return SampleRequest(
        id="g01-c00", generation=1, operator="fit", parents=shown, seed=7, fit=Fit(terms=2, children=children)
    )


def test_a_worker_fits_what_this_process_does(recorded: Path, pool: WorkerPool) -> None:
    here = fit_draft(request(40), recorded, InProcess())
    there = fit_draft(request(40), recorded, pool)
    assert there.model_copy(update={"seconds": here.seconds}) == here
    assert here.source is not None
    assert isinstance(compile_rule(here.source), CompiledRule)
    assert str(here.thought).startswith("Fitted to the recorded decisions, bred: ")
    assert (here.generator, here.attempts) == ("symbolic", ())


def test_a_bred_child_is_another_rule_than_its_parent(recorded: Path) -> None:
    parent = fit_draft(request(0), recorded, InProcess())
    assert "one by one" in str(parent.thought)
    child = fit_draft(request(40, str(parent.source)), recorded, InProcess())
    assert child.source != parent.source


def test_requests_of_a_generation_make_other_rules_of_the_same_decisions(recorded: Path) -> None:
    requests = [request(40)]
    requests += [one.model_copy(update={"fit": Fit(terms=2, children=40, rank=1)}) for one in requests]
    sources = [str(fit_draft(one, recorded, InProcess()).source) for one in requests]
    assert len(set(sources)) == 2
    had = Sample(id="g00-c00", generation=0, operator="fit", source=sources[0])
    assert fit_draft(requests[0], recorded, InProcess(), [had]).source == sources[1]


class Forbidden(UserDict[str, ReferenceRule]):
    """A library that nobody may read."""

    def __getitem__(self, name: str) -> ReferenceRule:
        raise AssertionError(f"The reference rule {name} was read.")


def test_rules_from_nothing_are_made_without_the_reference_library(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbidden = Forbidden()
    forbidden.data.update(REFERENCE_RULES)
    for module in list(sys.modules.values()):
        if getattr(module, "REFERENCE_RULES", None) is REFERENCE_RULES:
            monkeypatch.setattr(module, "REFERENCE_RULES", forbidden)
    fitted = fit_draft(request(40), recorded, InProcess())
    generator = open_generator(GeneratorConfig(), account_at(tmp_path))
    for operator in ("i1", "e1", "e2", "m1", "m2"):
        asked = request(0, str(fitted.source)).model_copy(update={"operator": operator, "fit": None})
        draft = generator.generate(asked, PromptContext(benchmark="any"))
        assert draft.source is not None
        assert score_low(draft.source, recorded, LowFidelityConfig(), InProcess()).f_lf is not None


@pytest.mark.long
def test_a_worker_has_room_for_what_a_thousand_decisions_of_large_models_need(tmp_path: Path) -> None:
    path = tmp_path / "decisions.npz"
    planted(1000, product((Leaf(18), 1.0), (Leaf(24), 0.5)), candidates=400).save(path)
    request = SampleRequest(id="g00-c00", generation=0, operator="fit", seed=1, fit=Fit(terms=4, children=20))
    with WorkerPool(1) as pool:
        assert fit_draft(request, path, pool).failure is None
