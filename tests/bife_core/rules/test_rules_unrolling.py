"""Sequences are syntax: what is written out means what Python means by it, and the rest is rejected by name."""

from __future__ import annotations

import ast

import pytest

from bife_core.rules.checked import CheckedRule, check_source
from bife_core.rules.types import Rejection

HEAD = "def candidate_variable_score(f):\n    "


def program(body: str) -> str:
    checked = check_source(HEAD + body)
    assert isinstance(checked, CheckedRule), checked
    return "\n".join(ast.unparse(function) for function in checked.functions)


@pytest.mark.parametrize(
    "body",
    [
        "w = (0.5, 0.25)\n    return sum(a * b for a, b in zip(w, f[3:5]))",
        "return np.mean([f[1], f[2]]) + len(f[4:9]) + max(f[1:3]) + np.max(f[1:3]) + np.cumsum(f[1:4])[2]",
        "v = [[f[1], f[2]], [f[3]]]\n    return v[0][1] + sum(v[1]) + sum(v[0])",
        "return any(x > 0 for x in f[1:4] if x < 9) + all([f[1], f[2]]) + f.shape[0] + f.ndim + f[1:3].size",
    ],
)
def test_nothing_but_numbers_and_the_vector_is_left(body):
    tree = ast.parse(program(body))
    assert not [
        node for node in ast.walk(tree) if isinstance(node, ast.List | ast.Tuple | ast.ListComp | ast.For)
    ]


def test_a_loop_over_a_sequence_is_a_loop_over_its_places():
    tree = ast.parse(program("t = 0.0\n    for x in f[3:9:2]:\n        t += x\n    return t"))
    (loop,) = (node for node in ast.walk(tree) if isinstance(node, ast.For))
    assert ast.unparse(loop.iter) == "range(3, 9, 2)"


def test_a_name_keeps_the_elements_it_was_given():
    lines = program(
        "x = f[1]\n    v = (x, f[2], 3.0)\n    x = 0.0\n    return v[0] + v[1] + v[2]"
    ).splitlines()
    assert lines[-1].strip() == "return _bife_1 + _bife_features[2] + 3.0"
    assert lines[-3].strip() == "_bife_1 = x"


REJECTED = {
    "return f * 2.0": "one number is needed here, not a sequence",
    "return sum([f[1]] * 3)": "one number is needed here, not a sequence",
    "return math.sqrt(f[1:3])": "one number is needed here, not a sequence",
    "return np.where(f[1:3] > 0, 1.0, 0.0)": "one number is needed here, not a sequence",
    "return f[f[1:3]]": "one number is needed here, not a sequence",
    "if f:\n        return 1.0\n    return 0.0": "one number is needed here, not a sequence",
    "return sum(f[1])": "a sequence is needed here, not one number",
    "for x in f[1]:\n        pass\n    return 1.0": "a sequence is needed here, not one number",
    "x = f[1]\n    return x[0]": "a number has no elements",
    "return f[1].size": "a sequence is needed here, not one number",
    "a, b = f[1:4]\n    return a": "3 elements cannot be assigned to 2 names",
    "a, b = f[1]\n    return a": "a sequence is needed here, not one number",
    "v = [f[1]]\n    v = [f[2]]\n    return v[0]": "the name 'v' holds a sequence, so it can be assigned only once",
    "f = f[1]\n    return f": "the name 'f' holds a sequence, so it can be assigned only once",
    "v = (1.0, 2.0)\n    return v[2]": "the index 2 is outside a sequence of 2",
    "return f[3:5][2]": "the index 2 is outside a sequence of 2",
    "return sum(f[int(f[1]):])": "the ends and the step of a slice must be constant",
    "return sum(f[1:9:0])": "the ends and the step of a slice must be constant",
    "return sum([x for x in range(int(f[1]))])": "a range needs one to three constant ends here",
    "return max(f[5:5])": "max of nothing has no value",
    "return max([x for x in f[1:4] if x > 0])": "the length of this sequence depends on the features",
    "return [x for x in f[1:4] if x > 0][0]": "the length of this sequence depends on the features",
    "for x in [y for y in f[1:4] if y > 0]:\n        pass\n    return 1.0": "the length of this sequence depends",
    "return ((1.0, 2.0), 3.0)[int(f[1])]": "a computed place needs elements that are alike",
    "return np.dot(f[1:3], f[1:4])": "np.dot takes two sequences of the same length",
    "def g(v):\n        return v[0]\n    return g(f[1:3])": "a helper takes numbers, and the features as a whole",
    "def g(v):\n        return v, v\n    return g(1.0)[0]": "the function returns a sequence",
    "while True:\n        pass": "no path of the function leads to a number",
}


@pytest.mark.parametrize("body", REJECTED)
def test_what_is_no_scalar_program_is_rejected_in_a_sentence(body):
    found = check_source(HEAD + body)
    assert isinstance(found, Rejection)
    assert found.kind == ("forbidden" if "is outside" in found.reason else "type")
    assert REJECTED[body] in found.reason
    assert found.reason.startswith("Line ")


@pytest.mark.parametrize(
    "body",
    [
        "return sum(range(301))",
        "return sum(x * y for x in f for y in f)",
        "return sum(x for a in range(300) for b in range(300) for x in range(0))",
        "return sum(" + "[x + x + x for x in " * 9 + "f[1:3]" + "]" * 9 + ")",
        "for a in f:\n"
        + "".join(f"{'    ' * i}for a{i} in f:\n" for i in range(2, 10))
        + " " * 40
        + "pass\n    return 1.0",
    ],
)
def test_what_is_written_out_is_limited(body):
    found = check_source(HEAD + body)
    assert isinstance(found, Rejection)
    assert found.kind == "forbidden"
