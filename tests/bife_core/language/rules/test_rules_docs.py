"""The page on rules names everything the code allows and offers."""

import pytest

from bife_core.language.rules import REFERENCE_RULES, compile_rule
from bife_core.language.rules.language import BUILTINS, CONSTANTS, MATH_FUNCTIONS, NUMPY_FUNCTIONS
from tests.support.documents import DOCS

PAGE = (DOCS / "reference" / "rule-language.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("rule", REFERENCE_RULES.values(), ids=lambda rule: rule.name)
def test_every_reference_rule_is_in_the_table_with_its_origin(rule):
    benchmark = f"`{rule.benchmark}`" if rule.benchmark else ""
    assert f"| `{rule.name}` | {benchmark} | {rule.summary} | {rule.origin} |" in PAGE


def test_every_allowed_word_is_named():
    words = NUMPY_FUNCTIONS | MATH_FUNCTIONS | BUILTINS | CONSTANTS.keys()
    assert [word for word in sorted(words) if f"`{word}`" not in PAGE] == []


def test_the_example_is_a_rule():
    example = PAGE.split("```python\n")[1].split("```")[0]
    rule = compile_rule(example)
    assert rule.features == frozenset({18, 20, 21})
