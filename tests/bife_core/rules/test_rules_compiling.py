"""Compiled rules as their users meet them: the object, the C function, refusals, threads, the cache on disk."""

from __future__ import annotations

import ctypes
import dataclasses
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from bife_core.errors import RuleError
from bife_core.features import N_FEATURES
from bife_core.rules import REFERENCE_RULES, CompiledRule, Rejection, compile_rule, interpret_rule
from bife_core.rules.interpreted import InterpretedRule
from bife_core.rules.types import Rule
from bife_core.sandbox import WorkerPool

ROOT = Path(__file__).resolve().parents[3]
HEAD = "def candidate_variable_score(f):\n    "
SIMPLE = HEAD + "return f[20] * f[21]\n"
SORTING = HEAD + "return np.median([f[1], f[2], f[3]]) + sorted(f[4:8])[1] + sum([x for x in f[8:12]])\n"
MODES = pytest.mark.parametrize("build", [compile_rule, interpret_rule])


@MODES
def test_what_a_rule_knows_of_itself(build):
    rule = build(SIMPLE, name="mine")
    assert isinstance(rule, CompiledRule)
    assert isinstance(rule.rule, Rule)
    assert (rule.name, rule.source, rule.features) == ("mine", SIMPLE, frozenset({20, 21}))
    assert rule.native == (build is compile_rule)
    assert (rule.address != 0) == rule.native
    assert build(SIMPLE).name == f"rule_{rule.sha[:8]}"
    assert "mine" in repr(rule)


@MODES
def test_any_layout_of_the_matrix_is_scored_alike(build):
    rule = build(SIMPLE)
    X = np.random.default_rng(0).random((5, N_FEATURES))
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


@MODES
def test_no_candidates_no_scores(build):
    scores = build(SIMPLE).score(np.empty((0, N_FEATURES)))
    assert scores.shape == (0,)
    assert scores.dtype == np.float64


@MODES
@pytest.mark.parametrize(
    "shape", [(N_FEATURES,), (3, N_FEATURES - 1), (3, N_FEATURES + 1), (3, N_FEATURES, 1), (0,)]
)
def test_another_shape_is_an_error(build, shape):
    with pytest.raises(RuleError, match=f"n x {N_FEATURES}"):
        build(SIMPLE).score(np.zeros(shape))


@MODES
def test_a_rule_that_raises_names_the_candidate(build):
    rule = build(HEAD + "return f[int(f[0])]")
    X = np.zeros((5, N_FEATURES))
    assert rule.score(X).tolist() == [0.0] * 5
    for bad in (float(N_FEATURES), -N_FEATURES - 1.0, np.nan, np.inf, 1e30):
        X[3, 0] = bad
        with pytest.raises(RuleError, match="candidate 3"):
            rule.score(X)


@MODES
def test_nothing_of_arithmetic_raises(build):
    rule = build(HEAD + "return 1.0 / f[0] + math.log(f[1]) + math.sqrt(f[2]) + math.exp(f[3])")
    X = np.zeros((4, N_FEATURES))
    X[1, 1] = X[3, 0] = 1.0
    X[2, 2] = -1.0
    X[3, 1], X[3, 3] = 1.0, 1e9
    scores = rule.score(X)
    assert np.isnan(scores[0])  # inf - inf
    assert scores[1] == np.inf
    assert np.isnan(scores[2])
    assert scores[3] == np.inf


def test_the_c_function_reports_what_happened():
    prototype = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)
    rule = compile_rule(HEAD + "return f[int(f[0])] + f[1]")
    score = prototype(rule.address)
    X, out = np.zeros((3, N_FEATURES)), np.full(3, -1.0)
    X[:, 1] = [1.0, 2.0, 3.0]
    assert score(X.ctypes.data, 3, out.ctypes.data) == 0
    assert out.tolist() == [1.0, 2.0, 3.0]
    assert score(X.ctypes.data, 0, out.ctypes.data) == 0
    X[1, 0] = 100.0
    assert score(X.ctypes.data, 3, out.ctypes.data) == 1


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("f[1:3]", "an array"),
        ("np.array([f[1], 1.0])", "an array"),
        ("f[1], f[2]", "a tuple"),
        ("[f[1]]", "a list"),
        ("f", "an array"),
        ("(f[1], [f[2]])", "one number"),
        ("np.array(f[1])", "one number"),
    ],
)
def test_a_score_must_be_one_number(value, words):
    found = compile_rule(f"{HEAD}return {value}")
    assert isinstance(found, Rejection)
    assert found.kind == "type"
    assert words in found.reason
    assert "a score must be one number" in found.reason


@pytest.mark.parametrize("value", ["1", "True", "f[1] > 0", "int(f[1])", "np.argmax(f)", "np.float64(1)"])
def test_whole_numbers_and_booleans_are_numbers(value):
    for build in (compile_rule, interpret_rule):
        scores = build(f"{HEAD}return {value}").score(np.ones((2, N_FEATURES)))
        assert scores.dtype == np.float64
        assert np.all(np.isin(scores, [0.0, 1.0]))


def test_an_interpreted_rule_that_gives_no_number_is_rejected():
    found = compile_rule(f"{HEAD}if f[1] >= 0:\n        a = f[1:3]\n    return a")
    assert isinstance(found, Rejection)
    assert (found.kind, found.reason) == ("type", "The function returns ndarray; a score must be one number.")


def test_compiling_runs_nothing():
    start = time.monotonic()
    rule = compile_rule(f"{HEAD}x = 1.0\n    while x > 0.0:\n        x += 1.0 + abs(f[0])\n    return x")
    assert rule.native
    assert time.monotonic() - start < 30


def test_an_interpreted_rule_that_never_ends_is_killed():
    rule = interpret_rule(SIMPLE)
    endless = InterpretedRule(
        Rule("endless", f"{HEAD}x = 1.0\n    while x > 0.0:\n        x += 1.0\n    return x", "0"),
        None,
        "test",
        limit_s=0.5,
    )
    with pytest.raises(RuleError, match=r"took more than 0\.5 s"):
        endless.score(np.ones((1, N_FEATURES)))
    assert rule.score(np.ones((1, N_FEATURES))).tolist() == [1.0]


def test_inside_a_worker_an_interpreted_rule_runs_in_place():
    arguments = {"source": HEAD + "if f[1] > 0:\n        a = f[1]\n    return a", "value": 2.5}
    with WorkerPool(1) as pool:
        facts = pool.submit("bife_core.rules.selftest:score_one", arguments, limit_s=60).result()
    assert facts == {"native": False, "score": 2.5, "children": 0}


def test_many_threads_may_compile_and_score_at_once():
    wrong: list[object] = []

    def work(k: int) -> None:
        rule = compile_rule(f"{HEAD}return f[{k % 3}] * {k % 3 + 1}.0 + {k % 3}")
        scores = rule.score(np.ones((10, N_FEATURES)))
        if scores.tolist() != [2.0 * (k % 3) + 1.0] * 10:
            wrong.append(scores)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_equal_rules_share_their_machine_code():
    one, two = (
        compile_rule(SIMPLE, name="one"),
        compile_rule("# same\n" + SIMPLE.replace("f", "g").replace("deg", "def")),
    )
    assert one.sha == two.sha
    assert one.address == two.address
    assert one.name == "one"


def test_scoring_is_fast_enough_for_a_thousand_decisions():
    X = np.random.default_rng(0).random((100_000, N_FEATURES))
    for name in ("paper_ca", "paper_sc", "paper_mis", "paper_cfl"):
        rule = compile_rule(REFERENCE_RULES[name].source)
        times = []
        for _ in range(5):
            start = time.perf_counter()
            rule.score(X)
            times.append(time.perf_counter() - start)
        assert min(times) < 0.1  # measured: 0.002 to 0.007 s


# --- the cache on disk ---------------------------------------------------------------------------------------

RELOAD = """
import sys
from pathlib import Path
import numpy as np
from bife_core.features import N_FEATURES
from bife_core.rules import compile_rule, native
def no_compiler(*arguments):
    raise SystemExit("compiled again")
native.compile_native = no_compiler
for source in sys.argv[2:]:
    rule = compile_rule(source, cache_dir=Path(sys.argv[1]))
    print(rule.native, rule.score(np.arange(float(N_FEATURES))[None])[0])
"""


def in_new_process(cache: Path, *sources: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", RELOAD, str(cache), *sources],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_the_next_process_takes_compiled_rules_from_the_cache(tmp_path):
    sources = [HEAD + "return f[3] + 0.125", SORTING]
    for source in sources:
        compile_rule(source, cache_dir=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
    assert in_new_process(tmp_path, *sources) == ["True", "3.125", "True", "45.0"]


def test_code_that_calls_what_a_process_lacks_is_compiled_anew(tmp_path):
    from bife_core.rules import cache, native

    source = HEAD + "return math.atan2(f[3], 0.375)"
    rule = compile_rule(source, cache_dir=tmp_path)
    stored = cache.read_code(tmp_path, rule.sha, native.target_key())
    assert "atan2" in stored.symbols
    foreign = dataclasses.replace(stored, symbols=("atan2", "bife_no_such_function"))
    cache.write_code(tmp_path, rule.sha, native.target_key(), foreign)
    native._libraries.pop(rule.sha)
    assert native.load_native(rule.sha, foreign) is None
    assert compile_rule(source, cache_dir=tmp_path).score(np.full((1, N_FEATURES), 0.375))[0] == np.pi / 4
    assert cache.read_code(tmp_path, rule.sha, native.target_key()).symbols == stored.symbols


def test_the_environment_can_name_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("BIFE_RULE_CACHE", str(tmp_path / "deep" / "cache"))
    assert compile_rule(HEAD + "return f[3] + 0.25").native
    assert len(list((tmp_path / "deep" / "cache").iterdir())) == 1


@pytest.mark.parametrize("damage", ["empty", "cut", "flip", "header", "magic"])
def test_a_damaged_file_is_compiled_anew(tmp_path, damage):
    source = f"{HEAD}return f[3] + {len(damage)}.5 + {ord(damage[0])}"
    from bife_core.rules import native

    rule = compile_rule(source, cache_dir=tmp_path)
    (file,) = tmp_path.iterdir()
    data = bytearray(file.read_bytes())
    if damage == "empty":
        data = bytearray()
    elif damage == "cut":
        data = data[: len(data) // 2]
    elif damage == "flip":
        data[-100] ^= 1
    elif damage == "header":
        data = data.replace(b'"size"', b'"wise"', 1)
    else:
        data[0] ^= 1
    file.write_bytes(bytes(data))
    native._libraries.pop(rule.sha)
    again = compile_rule(source.replace("f[3]", "f[3]"), cache_dir=tmp_path)
    assert again.native
    assert again.score(np.ones((1, N_FEATURES))).tolist() == rule.score(np.ones((1, N_FEATURES))).tolist()
    assert bytes(data) != file.read_bytes()


def test_a_cache_that_cannot_be_written_is_no_obstacle(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    assert compile_rule(HEAD + "return f[3] + 0.5", cache_dir=blocked / "cache").native
