"""Compiled rules as their users meet them: the object, the C function, rejections, threads."""

import copy
import ctypes
import pickle
import threading

import numpy as np
import pytest

from bife_core.base.errors import ConfigError, RuleError
from bife_core.language.components import BRANCHING
from bife_core.language.rules import compile_rule, rule_sha
from bife_core.language.rules.compiling import recompiled

HEAD = "def candidate_variable_score(f):\n    "
SIMPLE = HEAD + "return f[20] * f[21]\n"


def test_what_a_rule_knows_of_itself():
    rule = compile_rule(SIMPLE, name="mine")
    assert (rule.name, rule.source, rule.features) == ("mine", SIMPLE, frozenset({20, 21}))
    assert rule.address != 0
    assert compile_rule(SIMPLE).name == f"rule_{rule.sha[:8]}"
    assert "mine" in repr(rule)


def test_any_layout_of_the_matrix_is_scored_alike():
    rule = compile_rule(SIMPLE)
    X = np.random.default_rng(0).random((5, BRANCHING.n_features))
    expected = X[:, 20] * X[:, 21]
    frozen = X.copy()
    frozen.flags.writeable = False
    wide = np.zeros((5, 144))
    wide[:, ::2] = X
    for matrix in (X, np.asfortranarray(X), frozen, wide[:, ::2], X.tolist()):
        np.testing.assert_array_equal(rule.score(matrix), expected)
    np.testing.assert_array_equal(
        rule.score(X.astype(np.float32)), rule.score(X.astype(np.float32).astype(float))
    )


@pytest.mark.parametrize(
    "shape", [(BRANCHING.n_features,), (3, 71), (3, 73), (3, BRANCHING.n_features, 1), (0,)]
)
def test_another_shape_is_an_error(shape):
    with pytest.raises(RuleError, match="n x 72"):
        compile_rule(SIMPLE).score(np.zeros(shape))


def test_the_c_function_fills_the_scores():
    prototype = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)
    score = prototype(compile_rule(HEAD + "return f[71] + f[1]").address)
    X, out = np.zeros((3, BRANCHING.n_features)), np.full(3, -1.0)
    X[:, 1] = [1.0, 2.0, 3.0]
    X[2, 71] = 0.5
    assert score(X.ctypes.data, 2, out.ctypes.data) == 0
    assert out.tolist() == [1.0, 2.0, -1.0]
    assert score(X.ctypes.data, 3, out.ctypes.data) == 0
    assert out.tolist() == [1.0, 2.0, 3.5]


def test_a_worker_compiles_and_scores(pool):
    arguments = {"source": SIMPLE, "value": 2.5}
    facts = pool.submit("bife_core.language.rules.compiling:score_one", arguments, limit_s=60).result()
    assert facts == {"score": 6.25}


def test_many_threads_may_compile_and_score_at_once():
    wrong = []

    def work(k):
        rule = compile_rule(f"{HEAD}return f[{k % 3}] * {k % 3 + 1}.0 + {k % 3}")
        scores = rule.score(np.ones((10, BRANCHING.n_features)))
        if scores.tolist() != [2.0 * (k % 3) + 1.0] * 10:
            wrong.append(scores)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def pseudocosts(variable_features):
    """Multiply the gains."""
    return variable_features[20] * variable_features[21]


def test_a_function_is_compiled_as_its_source_is():
    rule = compile_rule(pseudocosts)
    assert rule.name == "pseudocosts"
    assert rule.sha == rule_sha("def candidate_variable_score(f): return f[20] * f[21]")


@pytest.mark.parametrize(("given", "reason"), [(lambda f: f[0], "lambda"), (eval("len"), "cannot be read")])
def test_a_function_without_a_source_is_rejected_in_a_sentence(given, reason):
    found = compile_rule(given)
    assert reason in found.reason
    with pytest.raises(ConfigError, match=r"source was expected to be .* Callable\[\.\.\., Any\] and is 3"):
        compile_rule(3)


def test_a_rule_can_be_pickled_and_copied_and_is_checked_when_it_is_read():
    rule = compile_rule("def candidate_variable_score(f): return f[20] * f[21]", name="mine")
    X = np.random.default_rng(0).random((5, BRANCHING.n_features))
    for copied in (pickle.loads(pickle.dumps(rule)), copy.deepcopy(rule), copy.copy(rule)):
        assert (copied.name, copied.sha, copied.features) == (rule.name, rule.sha, rule.features)
        np.testing.assert_array_equal(copied.score(X), rule.score(X))
    with pytest.raises(RuleError, match="open"):
        recompiled("def candidate_variable_score(f): return open('x')", "evil")
