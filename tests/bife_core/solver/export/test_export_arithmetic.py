"""A rule in C scores as the machine code BiFE runs, to the bit where the mathematical library is the same."""

import ctypes
import re
import subprocess
from importlib.resources import files

import numpy as np
import pytest

from bench.export import compiler
from bife_core.language.components import BRANCHING
from bife_core.language.rules import REFERENCE_RULES, CompiledRule, Rejection, check_source, compile_rule
from bife_core.solver.export.writing import feature_constant, rule_in_c
from tests.bife_core.language.rules import test_rules_semantics as semantics
from tests.support.marks import long_but

pytestmark = pytest.mark.skipif(not compiler(), reason="there is no C compiler here")

HEAD = semantics.HEAD
X = semantics.edge_matrix(200)
X[0] = 1.0

LAST_BIT = ("cbrt", "10.0 ** f[2]", "hypot")
"""What the two compilers take from different functions of the mathematical library."""


def in_c(sources, folder):
    """Return the scores of rules as C computes them."""
    parts = []
    for k, source in enumerate(sources):
        program = check_source(source)
        assert not isinstance(program, Rejection), (source, program)
        parts.append(re.sub(r"\b(score|h\d+)\(", rf"\1_of_{k}(", rule_in_c(program)))
        parts.append(
            f"void run_{k}(const double* X, int n, double* out)\n{{\n"
            f"   for( int i = 0; i < n; ++i )\n      out[i] = score_of_{k}(X + 72 * i);\n}}\n"
        )
    names = ", ".join(f"{feature_constant(i)} = {i}" for i in range(BRANCHING.n_features))
    head = "#include <math.h>\n#include <stdint.h>\n#include <stdlib.h>\n"
    plugin = files("bife_core.solver.export").joinpath("plugin.c").read_text(encoding="utf-8")
    whole = plugin.partition("/* What Python and numpy have")[2]
    library = whole.partition("*/")[2].partition("/* --- */")[0]
    path = folder / f"rules_{len(list(folder.iterdir()))}.c"  # a library is loaded once under one name
    path.write_text("\n".join((head, f"enum {{ {names} }};", library, *parts)), encoding="utf-8")
    flags = "-std=c99 -O2 -fPIC -shared -ffp-contract=off -Wall -Werror -Wno-div-by-zero"
    command = [*compiler(), *flags.split(), "-Wno-unused-but-set-variable", str(path)]
    command += ["-o", str(path.with_suffix(".so")), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    code, scored = ctypes.CDLL(str(path.with_suffix(".so"))), np.empty((len(sources), len(X)))
    for k, scores in enumerate(scored):
        pointers = (array.ctypes.data_as(ctypes.c_void_p) for array in (X, scores))
        getattr(code, f"run_{k}")(next(pointers), len(X), next(pointers))
    return scored


def assert_same(sources, folder):
    for source, scored in zip(sources, in_c(sources, folder), strict=True):
        rule = compile_rule(source)
        assert isinstance(rule, CompiledRule), (source, rule)
        if any(word in source for word in LAST_BIT):
            np.testing.assert_allclose(scored, rule.score(X), rtol=1e-15, err_msg=source)
        else:
            np.testing.assert_array_equal(scored, rule.score(X), err_msg=source)


def of(expressions):
    return [f"{HEAD}    return {expression}\n" for expression in expressions]


def test_reference_rules(tmp_path):
    assert_same([rule.source for rule in REFERENCE_RULES.values()], tmp_path)


def test_statements(tmp_path):
    assert_same([semantics.HELPERS, *(f"{HEAD}    {body}\n" for body in semantics.STATEMENTS)], tmp_path)


@pytest.mark.parametrize("expressions", [semantics.EXPRESSIONS, semantics.CALLS], ids=["all", "functions"])
@pytest.mark.parametrize("step", long_but([8, 1], [8]))
def test_expressions(expressions, step, tmp_path):
    assert_same(of(expressions[::step]), tmp_path)
