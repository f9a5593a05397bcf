"""The five metrics of the paper's appendix, counted by hand."""

import ast

import pytest

from bife_core.base.errors import RuleError
from bife_core.language.rules import complexity

RULE = '''
import numpy as np
import math as m
from math import log1p as lg
def candidate_variable_score(f):
    """Doc."""
    a = max(f[1], 0.0)
    b = -f[2] ** 2
    a += m.sqrt(a) + np.abs(b) + lg(a)
    if a > b:
        return a if a <= 1.0 else np.minimum(a, b)
    elif a != b:
        return a / b
    return 0.0
'''


def test_counted_by_hand():
    assert complexity(RULE) == {
        "ast_nodes": len(list(ast.walk(ast.parse(RULE)))),
        "operators": 7,  # + - ** / > <= !=
        "nonlinear_calls": 3,  # sqrt, abs, log1p
        "branches": 5,  # two ifs, one conditional expression, max, minimum
        "intermediate_variables": 2,  # a, b
    }


def test_names_layout_and_comments_do_not_matter():
    plain = "def candidate_variable_score(f):\n    a = f[1] * 2.0\n    return a\n"
    dressed = (
        "# hello\ndef candidate_variable_score(v):\n    total = (v[1]\n        * 2.0)\n    return total\n"
    )
    assert complexity(plain) == complexity(dressed)


@pytest.mark.parametrize("source", ["", "def f(:", "\x00"])
def test_what_cannot_be_parsed_has_no_complexity(source):
    with pytest.raises(RuleError):
        complexity(source)
