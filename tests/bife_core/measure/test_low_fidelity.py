"""F_LF counts agreement, or what else it is set to measure; the numbers of any rule are tuned on it."""

from concurrent.futures import Future

import numpy as np
import pytest

from bife_core import low_fidelity
from bife_core.base.errors import DecisionsError, RuleError
from bife_core.language.components import BRANCHING
from bife_core.language.rules import REFERENCE_RULES, compile_rule, rule_sha
from bife_core.language.rules.literals import gates, literals
from bife_core.measure.choices import Yardstick
from bife_core.measure.config import LowFidelityConfig
from bife_core.measure.decisions.recorded import concatenate
from bife_core.measure.low import score_low, tuned
from bife_core.search.generators.offline.expression import Leaf, product
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.scorer import RuleMethod
from bife_core.workers import InProcess, WorkerFailure, WorkerPool
from tests.support.recorded import decisions_of, planted
from tests.support.weighted import Weighted

HEADER = "import math\ndef candidate_variable_score(variable_features):\n    "


def rule_of(body):
    return RuleMethod(name="rule", source=HEADER + body).compiled


@pytest.fixture
def four_decisions():
    """Feature 0 holds what a rule may read; scores have a tie in the third decision."""
    return decisions_of([2, 2, 3, 2], [1, 2, 2, 1, 4, 4, 4, 1, 0], feature=[1, 2, 2, 1, 3, 3, 0, 7, 5])


@pytest.fixture
def path(four_decisions, tmp_path):
    four_decisions.save(tmp_path / "d.npz")
    return tmp_path / "d.npz"


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
        sizes.tolist(), rng.integers(0, 5, rows), columns=rng.exponential(size=(BRANCHING.n_features, rows))
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


def test_in_a_worker_a_rule_gives_its_score_or_a_reason(four_decisions, pool, path):
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


def test_the_text_of_a_method_is_scored_only_where_one_is_expected(path):
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


class Failing(InProcess):
    """Workers that fail calls whose arguments `match`."""

    def __init__(self, failure, match):
        super().__init__()
        self.failure, self.match, self.limit_s = failure, match, 0.0

    def submit_batch(self, call, arguments, **allowed):
        if not self.match(arguments[0]):
            return super().submit_batch(call, arguments, **allowed)
        self.limit_s = allowed["limit_s"]
        failed = Future()
        failed.set_exception(self.failure)
        return [failed]


def test_a_rule_whose_worker_is_always_killed_fails_where_a_sound_rule_lives():
    rule, killed = (
        HEADER + "return variable_features[0]",
        WorkerFailure("died", "It was killed.", by_machine=True),
    )
    some, every = Failing(killed, lambda sent: sent["source"] == rule), Failing(killed, bool)
    assert "ended its worker process twice" in score_low(rule, None, LowFidelityConfig(), some).failure
    with pytest.raises(WorkerFailure, match="was killed"):
        score_low(rule, None, LowFidelityConfig(), every)


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


EXPERT = planted(150, product((Leaf(18), 1.0), (Leaf(24), 0.5)))
HEAD = "def candidate_variable_score(f):\n"
ONE = (
    HEAD.replace("(f)", "(f, /)")
    + '    """Weight 3.5 is off."""\n    return f[18] * f[24] ** 3.5  # too much\n'
)
TWO = HEAD + "    power = 1.9\n    return f[18] ** power * (f[24] + 1e-9) ** 0.1\n"


@pytest.fixture
def expert(tmp_path):
    EXPERT.save(tmp_path / "decisions.npz")
    return tmp_path / "decisions.npz"


def f_lf(source):
    return low_fidelity(RuleMethod(name="rule", source=source), EXPERT)


def better_than(source, trials=300):
    return tuned(source, EXPERT, Yardstick(EXPERT), trials)


@pytest.mark.parametrize("source", [ONE, TWO])
def test_numbers_far_off_are_brought_near(source):
    better = better_than(source)
    assert f_lf(source) < 0.7 < 0.9 < f_lf(better)
    assert better == better_than(source)


@pytest.mark.parametrize(
    "source",
    [
        HEAD + "    return f[18] * f[24] ** 0.5\n",  # nothing is better
        HEAD + "    return f[18] * f[24]\n",  # no numbers
        "WEIGHT = 3.5\n\n\n" + HEAD + "    return f[18] * f[24] ** WEIGHT\n",  # not in the function
        "nonsense (",
    ],
)
def test_a_rule_that_cannot_be_better_is_left_alone(source):
    assert better_than(source, 60) is None


def test_a_rule_whose_tuning_takes_too_long_keeps_its_numbers_and_its_score(expert):
    plain = score_low(ONE, expert, LowFidelityConfig(), InProcess())
    pool = Failing(WorkerFailure("timeout", "too long"), lambda sent: sent.get("tune"))
    score = score_low(ONE, expert, LowFidelityConfig(tune=10**6), pool)
    assert score.model_copy(update={"seconds": plain.seconds}) == plain
    assert pool.limit_s > 100.0, "as long as so many settings may need, not as long as one score"


def test_the_score_is_that_of_the_tuned_rule(expert):
    plain = score_low(ONE, expert, LowFidelityConfig(), InProcess())
    better = score_low(ONE, expert, LowFidelityConfig(tune=300), InProcess())
    assert plain.source is None
    assert better.f_lf == f_lf(better.source) > (plain.f_lf or 0.0)
    assert better.sha == rule_sha(better.source) != plain.sha
    checked = score_low(ONE, None, LowFidelityConfig(tune=300), InProcess())
    assert (checked.source, checked.failure) == (None, None)


def test_a_number_that_f_lf_does_not_need_stays_as_it_was_written():
    source = HEAD + "    rest = 1.00 - f[19] * 0.20\n    return f[18] * f[24] ** 3.5 + 1e-6 * rest\n"
    better = better_than(source)
    assert "rest = 1.00 - f[19] * 0.20" in better
    assert f_lf(better) > 0.9


def test_a_number_that_a_feature_is_compared_with_stays_among_its_values():
    # F_LF is best where the second branch is never taken.
    slack, gate = EXPERT.columns[18], float(f"{np.median(EXPERT.columns[18]):.2g}")
    body = f"    slack = x[SLACK]\n    if slack > {gate}:\n        return -slack\n    return slack * x[24] ** 0.5\n"
    source = "SLACK = 18\n" + HEAD.replace("(f)", "(x)") + body
    better = better_than(source)
    (moved,) = (
        literal.value for literal in literals(better) if (literal.line, literal.begin) in gates(better)
    )
    assert gate < moved < slack.max()
    assert f_lf(better) > f_lf(source)


def test_the_features_that_numbers_are_compared_with_are_seen_where_they_are_plain():
    source = f"""A = 3
{HEAD}
    y = f
    low, twice = y[A], y[24]
    low = y[A]
    gain = f[3]
    if 0.1 < gain < 0.9 or low > 0.7 or twice > 0.8 or max(gain, 0.0) > 0.2:
        return f[18] if 0.4 >= f[20] else 1.0
    return y[24]
"""
    found = gates(source)
    by_value = {one.value: found.get((one.line, one.begin)) for one in literals(source)}
    assert by_value == {0.1: 3, 0.9: 3, 0.7: None, 0.8: None, 0.2: None, 0.4: 20, 1.0: None}
