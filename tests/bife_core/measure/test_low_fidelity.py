"""F_LF counts agreement, or what else it is set to measure, in this process and in a worker."""

from concurrent.futures import Future

import numpy as np
import pytest

from bife_core import low_fidelity
from bife_core.base.errors import DecisionsError, RuleError
from bife_core.language.components import BRANCHING
from bife_core.language.rules import REFERENCE_RULES, compile_rule
from bife_core.measure.decisions.recorded import concatenate
from bife_core.measure.low import score_low
from bife_core.run.config import LowFidelityConfig
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.scorer import RuleMethod
from bife_core.workers import InProcess, WorkerFailure, WorkerPool
from tests.support.recorded import decisions_of
from tests.support.weighted import Weighted

HEADER = "import math\ndef candidate_variable_score(variable_features):\n    "


def rule_of(body):
    return RuleMethod(name="rule", source=HEADER + body).compiled


@pytest.fixture
def four_decisions():
    """Feature 0 holds what a rule may read; scores have a tie in the third decision."""
    return decisions_of([2, 2, 3, 2], [1, 2, 2, 1, 4, 4, 4, 1, 0], feature=[1, 2, 2, 1, 3, 3, 0, 7, 5])


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return variable_features[0]", 1.0),
        ("return -variable_features[0]", 0.25),
        ("return 1.0", 0.75),
        ("return math.nan", 0.0),
        ("return math.nan if variable_features[0] == 3 else -variable_features[0]", 0.25),
    ],
)
def test_accuracy_on_a_hand_made_example(body, expected, four_decisions):
    assert low_fidelity(rule_of(body), four_decisions) == expected


def test_a_large_set_is_scored_like_a_loop_in_python():
    """More rows than one block, and sizes that do not divide it."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 40, 200)
    rows = int(sizes.sum())
    decisions = decisions_of(
        sizes.tolist(),
        rng.integers(0, 5, rows),
        columns=rng.exponential(size=(BRANCHING.n_features, rows)),
    )
    for name, reference in REFERENCE_RULES.items():
        rule = RuleMethod(name=name, source=reference.source).compiled
        scores = rule.score(decisions.matrix)
        right = 0
        for start, end in zip(decisions.offsets[:-1], decisions.offsets[1:], strict=True):
            expert = decisions.scores[start:end]
            right += expert[int(np.argmax(scores[start:end]))] == expert.max()
        assert low_fidelity(rule, decisions) == right / len(decisions), name


def test_no_decision_is_an_error():
    with pytest.raises(DecisionsError, match="at least one"):
        low_fidelity(rule_of("return 1.0"), concatenate([]))


def test_in_a_worker_a_rule_gives_its_score_or_a_reason(four_decisions, pool, tmp_path):
    path = tmp_path / "d.npz"
    four_decisions.save(path)
    config = LowFidelityConfig()

    good = score_low(HEADER + "return variable_features[0]", path, config, pool)
    assert (good.f_lf, good.failure) == (1.0, None)
    assert good.sha is not None
    duplicate = score_low(HEADER + "return 2 * variable_features[0] + 1", path, config, pool)
    other = score_low(HEADER + "return -variable_features[0]", path, config, pool)
    assert good.behaviour == duplicate.behaviour != other.behaviour
    assert len(good.behaviour or "") == len(four_decisions)
    assert duplicate.sha != good.sha

    broken = score_low("def candidate_variable_score(f) return 1", path, config, pool)
    assert broken.f_lf is None
    assert broken.kind == "syntax"
    assert "Line 1" in (broken.failure or "")

    silent = score_low(HEADER + "return math.nan", path, config, pool)
    assert (silent.f_lf, silent.kind) == (None, "runtime")
    assert "NaN" in (silent.failure or "")


def test_the_text_of_a_method_is_scored_only_where_one_is_expected(four_decisions, tmp_path):
    path = tmp_path / "d.npz"
    four_decisions.save(path)
    text = RuleMethod(name="rule", source=HEADER + "return variable_features[0]").model_dump_json()
    settings = Configuration(params={"branching/relpscost/maxreliable": 4.0}).text
    asked = ((text, True), (text, False), ("  " + text, False), (settings, False))
    found = [
        score_low(source, path, LowFidelityConfig(tune=4), InProcess(), method=method)
        for source, method in asked
    ]
    assert [score.f_lf for score in found] == [1.0, None, None, None]
    assert [score.kind for score in found] == [None, "forbidden", "syntax", "syntax"]


def test_what_is_not_the_rules_fault_is_not_its_failure(tmp_path, pool):
    good = HEADER + "return variable_features[0]"
    with pytest.raises(DecisionsError, match=r"missing.npz cannot be read"):
        score_low(good, tmp_path / "missing.npz", LowFidelityConfig(), pool)
    broken = tmp_path / "broken.npz"
    broken.write_text("no decisions")
    with pytest.raises(DecisionsError, match=r"broken.npz cannot be read"):
        score_low(good, broken, LowFidelityConfig(), pool)
    closed = WorkerPool(1)
    closed.close()
    with pytest.raises(WorkerFailure, match="pool is closed"):
        score_low(good, None, LowFidelityConfig(), closed)


class Losing(InProcess):
    """Workers that something kills from outside whenever they score a rule with a text."""

    def __init__(self, text):
        super().__init__()
        self.text = text

    def submit_batch(self, call, arguments, **allowed):
        lost = Future()
        lost.set_exception(WorkerFailure("died", "The worker was killed.", by_machine=True))
        return (
            [lost]
            if self.text in arguments[0]["source"]
            else super().submit_batch(call, arguments, **allowed)
        )


def test_a_rule_whose_worker_is_always_killed_fails_where_a_sound_rule_lives():
    rule = HEADER + "return variable_features[0]"
    score = score_low(rule, None, LowFidelityConfig(), Losing(rule))
    assert "ended its worker process twice" in (score.failure or "")
    with pytest.raises(WorkerFailure, match="was killed"):
        score_low(rule, None, LowFidelityConfig(), Losing(""))


class Broken(Weighted):
    """A scorer that returns one score for all candidates, or fails."""

    def score(self, X):
        if self.name == "bad":
            raise ValueError("no weights")
        return X[:1, 0]


def first_feature(variable_features):
    return variable_features[0]


def test_f_lf_of_whatever_scores_candidates_or_names_it(four_decisions, tmp_path):
    source = HEADER + "return variable_features[0]"
    rule = compile_rule(source)
    (tmp_path / "rule.py").write_text(source)
    given = [
        rule, RuleMethod(name="rule", source=source), Weighted(name="ours", weights={"obj_coef": 1.0}), first_feature,
        tmp_path / "rule.py", str(tmp_path / "rule.py"),
    ]  # fmt: skip
    assert [low_fidelity(one, four_decisions) for one in given] == [1.0] * len(given)
    assert low_fidelity("pseudocost_product", four_decisions) <= 1.0


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("relpscost", "relpscost scores no candidates"),
        ("no_such_rule", "There is no rule 'no_such_rule'"),
        (lambda f: f[0], "not a lambda"),
        (3, "3 is no method to branch by"),
        (
            Broken(name="few", weights={}),
            r"few must return one score per candidate, 9 in all, and returned .* \(4,\)",
        ),
        (
            Broken(name="bad", weights={}),
            "bad raised while scoring recorded candidates: ValueError: no weights",
        ),
    ],
)
def test_what_scores_no_candidates_is_one_sentence(four_decisions, given, reason):
    with pytest.raises(RuleError, match=reason):
        low_fidelity(given, four_decisions)
