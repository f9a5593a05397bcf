"""What makes two rules the same rule."""

import re

import pytest

from bife_core.base.errors import RuleError
from bife_core.language.rules import REFERENCE_RULES, rule_sha

PLAIN = """
def candidate_variable_score(variable_features):
    slack = variable_features[18]
    total = 0.0
    for k in range(20, 22):
        total = total + math.log1p(variable_features[k])
    return np.tanh(slack) * total
"""

SAME = {
    "documented": PLAIN.replace("):\n", '):\n    """Score it."""\n', 1),
    "annotated": PLAIN.replace("(variable_features)", "(variable_features: list) -> float", 1),
    "annotated variable": PLAIN.replace("total = 0.0", "total: float = 0.0"),
    "commented": PLAIN.replace("slack =", "# slack\n    slack =  "),
    "other argument": PLAIN.replace("variable_features", "x"),
    "other locals": PLAIN.replace("slack", "a").replace("total", "b"),
    "imports": "import numpy as np\nimport math\n" + PLAIN,
    "imports inside": PLAIN.replace("):\n", "):\n    import math\n    from math import log1p\n", 1),
    "other module names": "import numpy as xp\n" + PLAIN.replace("np.", "xp."),
    "bare names": "from numpy import tanh\nfrom math import log1p as l\n"
    + PLAIN.replace("np.tanh", "tanh").replace("math.log1p", "l"),
    "in place": PLAIN.replace("total = total +", "total +="),
    "named constants": "SLACK, FIRST = 18, 20\n"
    + PLAIN.replace("[18]", "[SLACK]").replace("range(20", "range(FIRST"),
    "idle statement": PLAIN.replace("    total = 0.0", "    pass\n    total = 0.0"),
    "type of a constant": PLAIN.replace("total = 0.0", "total = 0"),
    "loop written out": PLAIN.replace("[k]", "[20]")
    .replace("for k in range(20, 22):\n        total = total + ", "k = 20\n    total = total + ")
    .replace("    return", "    k = 21\n    total = total + math.log1p(variable_features[21])\n    return"),
    "unused helper": PLAIN + "\ndef idle(x):\n    return x\n",
    "line breaks": PLAIN.replace(
        "np.tanh(slack) * total", "(np.tanh(\n        slack\n    )\n        * total)"
    ),
}

DIFFERENT = {
    "constant": PLAIN.replace("18", "19"),
    "sign of zero": PLAIN.replace("total = 0.0", "total = -0.0"),
    "operator": PLAIN.replace("* total", "/ total"),
    "order": PLAIN.replace("np.tanh(slack) * total", "total * np.tanh(slack)"),
    "function": PLAIN.replace("tanh", "sinh"),
    "module": PLAIN.replace("np.tanh", "math.tanh"),
    "which variable": PLAIN.replace("* total", "* slack"),
}


@pytest.mark.parametrize("name", SAME | DIFFERENT)
def test_what_matters_and_what_does_not(name):
    assert (rule_sha((SAME | DIFFERENT)[name]) == rule_sha(PLAIN)) == (name in SAME)


def test_helper_names_and_order_do_not_matter_but_bodies_do():
    first = (
        "def a(x):\n    return x + 1.0\ndef b(x, y=2.0):\n    return x * y\n"
        "def candidate_variable_score(f):\n    return b(a(f[1]))\n"
    )
    second = (
        "def candidate_variable_score(g):\n    return first(x=second(g[1]), y=2.0)\n"
        "def first(x, y):\n    return x * y\ndef second(u):\n    return u + 1.0\n"
    )
    assert rule_sha(first) == rule_sha(second)
    assert rule_sha(first) != rule_sha(first.replace("y=2.0", "y=3.0"))


def test_all_reference_rules_differ():
    shas = [rule_sha(rule.source) for rule in REFERENCE_RULES.values()]
    assert len(set(shas)) == len(shas)
    assert all(re.fullmatch("[0-9a-f]{64}", sha) for sha in shas)


def test_the_hash_never_changes():
    """Registered versions and journals hold it: a new value here is a new version of the hash."""
    assert rule_sha(PLAIN) == "30305e2d17ca926722cff8ca95a1dd9ae82911d54c82af433fe200593f5d817e"


def test_only_rules_have_a_hash():
    with pytest.raises(RuleError, match="open is not among"):
        rule_sha("def candidate_variable_score(f):\n    return open(f)")
