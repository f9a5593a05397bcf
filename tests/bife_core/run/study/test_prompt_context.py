"""What a prompt says, and what becomes of an answer that is no rule, through a whole search."""

from concurrent.futures import Future
from typing import Any

import numpy as np
import pytest

import bife_core
from bife_core.measure.choices import Yardstick, chosen_rows, scores_of
from bife_core.measure.config import LowFidelityConfig
from bife_core.measure.decisions.recorded import Decisions
from bife_core.measure.failings import failings
from bife_core.measure.high import HighScore
from bife_core.measure.low import LowScore
from bife_core.run.config import PipelineConfig
from bife_core.run.study.prompt_context import ContextBuilder, Past, candidates, feature_ranges
from bife_core.search import Sample, SampleRequest, open_search as search_of
from bife_core.search.generators import Draft, PromptContext
from bife_core.search.generators.prompting import assemble
from bife_core.solver.methods.scorer import RuleMethod
from bife_core.workers import WorkerFailure
from tests.support.model_answers import MODEL, rule_source
from tests.support.model_api import ModelApi
from tests.support.recorded import decisions_of
from tests.support.stored import forget_events

ABOUT = PromptContext(benchmark="toys")
REQUEST = SampleRequest(id="g00-c00", generation=0, operator="i1", seed=3)


@pytest.fixture(autouse=True)
def _model(monkeypatch):
    monkeypatch.setenv("BIFE_LLM_MODEL", MODEL)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def test_features_have_quantiles_and_candidates_are_described():
    columns = np.zeros((72, 4))
    columns[0], columns[19] = [0.0, 1.0, 2.0, 3.0], [0.5, 0.5, 0.25, 0.9]
    decisions = decisions_of([3, 1], [0.0, 1.0, 0.0, 1.0], columns=columns, depth=[0, 4])
    ranges = feature_ranges(decisions, Yardstick(decisions))
    assert ranges[0].quantiles == pytest.approx((0.0, 0.3, 1.5, 2.7, 3.0))
    assert ranges[1].constant
    first, second = candidates(decisions)
    assert "2 recorded decisions, at depths 0 to 4 (median 2), with 1 to 3 candidates (median 2)" in first
    assert "a standard error of up to 0.35" in first
    assert "half below 0.50" in second


def test_of_each_feature_it_is_known_how_well_it_chooses_alone_and_whether_another_says_the_same():
    columns = np.zeros((72, 6))
    columns[0] = [-5.0, -1.0, -3.0, -6.0, -2.0, -4.0]
    columns[3], columns[67] = [1.0, 2.0, 3.0, 1.0, 2.0, 3.0], -columns[0] * (1 + 1e-12)
    # The first of three is right; then either of the first two.
    decisions = decisions_of([3, 3], [1.0, 0.0, 0.0, 1.0, 1.0, 0.0], columns=columns)
    ranges = feature_ranges(decisions, Yardstick(decisions))
    shown = {index: (feature.alone, feature.first, feature.repeats) for index, feature in enumerate(ranges)}
    assert shown[0] == (1.0, "farthest from 0", None)
    assert shown[3] == (1.0, "smallest", None)
    assert shown[67] == (1.0, "largest", 0)
    assert {index for index, feature in enumerate(ranges) if feature.repeats is not None} == {67}


def test_of_each_feature_it_is_known_what_it_adds_to_the_best_one():
    columns = np.zeros((72, 6))
    # The number of rows is right where it does not tie, and the smallest slack where it does.
    columns[3], columns[18] = [3.0, 1.0, 1.0, 2.0, 2.0, 1.0], [0.5, 0.1, 0.6, 0.2, 0.1, 0.5]
    decisions = decisions_of([3, 3], [1.0, 0.0, 0.0, 0.0, 1.0, 0.0], columns=columns)
    ranges = feature_ranges(decisions, Yardstick(decisions))
    assert (ranges[3].alone, ranges[3].times_best) == (0.5, None)
    assert (ranges[18].alone, ranges[18].times_best, ranges[18].power) == (0.5, 1.0, -0.25)
    assert ranges[0].times_best is None


def config(**settings):
    few = {"search.samples": 3, "search.initial": 2, "search.population": 2, "generator.kind": "openai"}
    return bife_core.with_overrides(bife_core.preset("smoke"), few | settings)


@pytest.fixture(scope="module")
def data(data):
    return data | {"benchmark": "combinatorial_auction"}


def context_of(data, past, low=None):
    config = PipelineConfig(low=low or LowFidelityConfig())
    builder = ContextBuilder("toys", data["instances"], data["decisions"].path, config)
    request = REQUEST.model_copy(update={"operator": "e2", "parents": past.samples})
    return builder.build(request, past, data["workers"])


def test_of_parents_it_is_known_whose_numbers_were_fitted_and_how_alike_they_choose(data):
    parents = tuple(
        Sample(id=name, generation=0, operator="i1", source=rule_source(number), f_lf=0.5, behaviour=chosen)
        for number, (name, chosen) in enumerate((("one", "abca"), ("two", "abcb"), ("unscored", "----")))
    )
    parents = (*parents[:2], parents[2].model_copy(update={"f_lf": None}))
    tuned = {name: LowScore(source="x", regret=0.25) for name in ("one", "other")}
    context = context_of(data, Past(parents, tuned), LowFidelityConfig(tune=5))
    assert (context.fitting, context.fitted, context.regrets) == (True, ("one",), {"one": 0.25})
    assert list(context.failings) == ["one", "two"]
    assert context.likeness is None  # of three it would not say which two
    context = context_of(data, Past(parents[:2]), LowFidelityConfig(tune=5))
    decisions = Decisions.load(data["decisions"].path)
    first = chosen_by(parents[0], decisions)
    *where, contributed = context.failings["one"]
    assert tuple(where) == failings(decisions, first)
    assert contributed.startswith("F_LF with one of its features held at its median: [")
    assert context.likeness == 0.75
    assert not context_of(data, Past()).fitting


def test_why_a_rule_failed_in_the_solver_is_told_without_names(data):
    text = "zebra-7: SCIP failed while reading /home/zebra."
    failed = Sample(id="one", generation=0, operator="i1", source=rule_source(0), failure=text)
    lost = Sample(
        id="two", generation=0, operator="i1", failure="http://zebra/v1 answered (HTTP 500: zebra)."
    )
    context = context_of(data, Past((failed, lost), solved={"one": HighScore(failure=text)}))
    (message,) = assemble(REQUEST, context)
    assert "failed: It failed while an instance was solved" in message.content
    assert "zebra" not in message.content


def chosen_by(sample, decisions):
    rule = RuleMethod(name="rule", source=sample.source or "").compiled
    return chosen_rows(scores_of(rule, decisions), decisions.offsets)


class Careless:
    """Forgets to define a name, unless a prompt says so."""

    name = "careless"

    def __init__(self):
        self.reasons = []

    def generate(self, request, context):
        source = rule_source(0).replace("slack = variable_features[18]", "pass")
        return Draft(model="none", source=source)

    def repair(self, request, context, rejected, reason):
        self.reasons.append(reason)
        return rejected.model_copy(update={"source": rule_source(request.seed)})


@pytest.mark.parametrize("repair", [True, False])
def test_a_rule_that_does_not_pass_the_checks_is_repaired_where_that_is_wanted(repair, data, tmp_path):
    careless = Careless()
    settings = config(**{"generator.prompts": "informed" if repair else "paper", "search.samples": 2})
    result = bife_core.create_study(settings, **data, folder=tmp_path, generator=careless).run()
    assert [sample.valid for sample in result.samples] == [repair] * 2
    assert len(careless.reasons) == 2 * repair
    assert all("slack" in reason for reason in careless.reasons)


def test_initial_rules_have_a_theme_each_and_others_none(data):
    builder = ContextBuilder("toys", data["instances"], data["decisions"].path, config())
    requests = [*search_of(config().search).ask(), REQUEST.model_copy(update={"operator": "m1"})]
    themes = [builder.build(request, Past(), data["workers"]).theme for request in requests]
    assert len(set(themes)) == 3
    assert [bool(theme) for theme in themes] == [True, True, False]
    (message,) = assemble(requests[0], builder.build(requests[0], Past(), data["workers"]))
    assert themes[0] in message.content
    (plain,) = assemble(requests[0], builder.build(requests[0], Past(), data["workers"]), "paper")
    assert themes[0] not in plain.content


def test_what_an_interrupted_run_did_not_read_the_next_one_reads(data):
    class Closed(bife_core.InProcess):
        def submit(self, *_, **__):
            answer = Future[Any]()
            answer.set_exception(WorkerFailure("closed", "The pool was closed."))
            return answer

    builder, closed = ContextBuilder("toys", data["instances"], data["decisions"].path, config()), Closed()
    for _ in range(2):
        with pytest.raises(WorkerFailure, match="closed"):
            builder.build(REQUEST, Past(), closed)
    assert builder.build(REQUEST, Past(), data["workers"]).features


def test_a_search_tells_what_it_knows_and_asks_in_the_same_words_again(data, tmp_path, monkeypatch):
    settings = config(**{"low.tune": 20, "generator.about": "bids for freight"})
    with ModelApi(["wrong_name"], then="apt") as api:
        monkeypatch.setenv("BIFE_LLM_BASE_URL", api.base_url)
        complete = bife_core.create_study(settings, folder=tmp_path / "whole", **data).run()
        requests = [received.body["messages"] for received in api.requests]
        # All that is left of the search are the calls: the same prompts find their answers there.
        forget_events(tmp_path / "whole", 0.0)
        again = bife_core.create_study(settings, folder=tmp_path / "whole", **data).run()
        assert len(api.requests) == len(requests)
    assert [sample.valid for sample in complete.samples] == [True] * 3
    assert [sample.sha for sample in again.samples] == [sample.sha for sample in complete.samples]
    assert complete.spending.calls == 4
    first, last = requests[0][0]["content"], requests[-1][0]["content"]
    assert "of this kind: bids for freight.\n" in first
    assert "100 % knapsack" in first
    assert "Of no use here, since all candidates have the same value: [1] obj_coef_pos_part" in first
    assert "first\n" in first
    assert "F_LF 0." in last
    assert "times the cost of SCIP's own rule" in last
    assert "It chose as strong branching did in" in last
    assert "instance | nodes | x RPB | ms/node | x RPB | " in last
    assert "A rule is now evaluated in the solver if its F_LF is 0." in last
    assert ("# How to read the tables" in first, "A rule is now" in first) == (False, False)
    assert "# What becomes of the numbers" in first
