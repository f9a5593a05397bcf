"""The numbers of any rule, tuned on F_LF."""

from concurrent.futures import Future

import numpy as np
import pytest

from bife_core.language.rules import rule_sha
from bife_core.language.rules.literals import gates, literals
from bife_core.measure.choices import Yardstick
from bife_core.measure.low import low_fidelity, score_low, tuned
from bife_core.run.config import LowFidelityConfig
from bife_core.search.generators.offline.expression import Leaf, product
from bife_core.solver.methods.scorer import RuleMethod
from bife_core.workers import InProcess, WorkerFailure
from tests.support.recorded import planted

EXPERT = planted(150, product((Leaf(18), 1.0), (Leaf(24), 0.5)))
HEAD = "def candidate_variable_score(f):\n"
ONE = (
    HEAD.replace("(f)", "(f, /)")
    + '    """Weight 3.5 is off."""\n    return f[18] * f[24] ** 3.5  # too much\n'
)
TWO = HEAD + "    power = 1.9\n    return f[18] ** power * (f[24] + 1e-9) ** 0.1\n"


def f_lf(source):
    return low_fidelity(RuleMethod(name="rule", source=source), EXPERT)


@pytest.mark.parametrize("source", [ONE, TWO])
def test_numbers_far_off_are_brought_near(source):
    better = tuned(source, EXPERT, Yardstick(EXPERT), 300)
    assert better is not None
    assert f_lf(source) < 0.7 < 0.9 < f_lf(better)
    assert better == tuned(source, EXPERT, Yardstick(EXPERT), 300)


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
    assert tuned(source, EXPERT, Yardstick(EXPERT), 60) is None


class Stopped(InProcess):
    """Workers that stop whatever tunes a rule, as at a limit."""

    limit_s = 0.0

    def submit_batch(self, call, arguments, **allowed):
        if not arguments[0].get("tune"):
            return super().submit_batch(call, arguments, **allowed)
        self.limit_s = allowed["limit_s"]
        stopped = Future()
        stopped.set_exception(WorkerFailure("timeout", "too long"))
        return [stopped]


def test_a_rule_whose_tuning_takes_too_long_keeps_its_numbers_and_its_score(tmp_path):
    path = tmp_path / "decisions.npz"
    EXPERT.save(path)
    plain = score_low(ONE, path, LowFidelityConfig(), InProcess())
    pool = Stopped()
    score = score_low(ONE, path, LowFidelityConfig(tune=10**6), pool)
    assert score.model_copy(update={"seconds": plain.seconds}) == plain
    assert pool.limit_s > 100.0, "as long as so many settings may need, not as long as one score"


def test_the_score_is_that_of_the_tuned_rule(tmp_path):
    path = tmp_path / "decisions.npz"
    EXPERT.save(path)
    plain = score_low(ONE, path, LowFidelityConfig(), InProcess())
    better = score_low(ONE, path, LowFidelityConfig(tune=300), InProcess())
    assert plain.source is None
    assert better.source is not None
    assert better.f_lf == f_lf(better.source) > (plain.f_lf or 0.0)
    assert better.sha == rule_sha(better.source) != plain.sha
    checked = score_low(ONE, None, LowFidelityConfig(tune=300), InProcess())
    assert (checked.source, checked.failure) == (None, None)


def test_a_number_that_f_lf_does_not_need_stays_as_it_was_written():
    source = HEAD + "    rest = 1.00 - f[19] * 0.20\n    return f[18] * f[24] ** 3.5 + 1e-6 * rest\n"
    better = tuned(source, EXPERT, Yardstick(EXPERT), 300)
    assert better is not None
    assert "rest = 1.00 - f[19] * 0.20" in better
    assert f_lf(better) > 0.9


def test_a_number_that_a_feature_is_compared_with_stays_among_its_values():
    # F_LF is best where the second branch is never taken.
    slack, gate = EXPERT.columns[18], float(f"{np.median(EXPERT.columns[18]):.2g}")
    body = f"    slack = x[SLACK]\n    if slack > {gate}:\n        return -slack\n    return slack * x[24] ** 0.5\n"
    source = "SLACK = 18\n" + HEAD.replace("(f)", "(x)") + body
    better = tuned(source, EXPERT, Yardstick(EXPERT), 300)
    assert better is not None
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
