import ast
import json
import warnings

import pytest
from hypothesis import given, strategies as st

from bife_core.language.components import BRANCHING
from bife_core.search.generators.parsing import parse_answer

BODY = """def candidate_variable_score(variable_features) -> float:
    # gains first
    up = variable_features[20]
    return up * variable_features[21]
"""
CODE = "import math\n\n\n" + BODY.replace("up *", "math.sqrt(up) *")


def names(source):
    return [node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]


DRAFT = f"Let me see.\n```python\n{BODY.replace('up *', '0 *')}```\nNo: that is flat.\n"
OLD = BODY.replace("up *", "0 *")
USE = "print(candidate_variable_score([0.0] * 72))"
DOCUMENTED = 'def candidate_variable_score(x):\n    """Slack alone.\n\n    More."""\n    return x[18]\n'
BRACES = BODY.replace("    up =", "    weights = {20: 1.0, 21: 2.0}\n    up =")
INDENTED = "".join(f"   {line}\n" if line else "\n" for line in CODE.split("\n"))

IDEA = "Geometric gains"
FINAL = f"```python\n{CODE}```\n"
HELPED = f"def half(x):\n    return x / 2\n\n\n{BODY.replace('up *', 'half(up) *')}"
MARGIN = "".join(f"    {line}\n" if line else "\n" for line in CODE.split("\n"))
JSON = json.dumps({"description": IDEA, "code": CODE})
READ = {  # what a model answers, the rule in it, and its thought
    **{
        fence: (f"{{{IDEA}}}\n\n{fence}\n{CODE}{fence[:3]}{'`' * (fence[3:4] == '`')}\nDone.", CODE, IDEA)
        for fence in ("```", "~~~Python", "````py", "```python", "```python3 title=rule.py")
    },
    "between sentences": (f"It takes gains.\n\n{CODE}\nThis should work well.", CODE, "It takes gains."),
    "bare": (BODY, BODY, None),
    "a docstring": (DOCUMENTED, DOCUMENTED, "Slack alone."),
    **{
        f"a draft in reasoning {number}": (f"{reasoning}\n\n{{{IDEA}}}\n{BODY}", BODY, "Geometric gains")
        for number, reasoning in enumerate(
            (
                f"{DRAFT}</think>",
                f"<think>{DRAFT}</think>",
                f"<think>What is a <think>?\n{DRAFT}</think>{DRAFT}</think>",
                f"<think>One</think>{DRAFT}<think>Two</think>{DRAFT}</think>",
            )
        )
    },
    "reasoning after it": (f"```python\n{BODY}```\n<think>Is it good?</think>\n", BODY, None),
    "a lone tag inside": (f"```python\n# </think>\n{BODY}```\n", BODY, None),
    "a lone tag after it": (f"```python\n{BODY}```\nI left </think> out.\n", BODY, None),
    "an announcement": (f"Here is the rule you asked for:\n\n```python\n{CODE}```", CODE, None),
    "braces after the code": (f"```python\n{BRACES}```\n{{Gains\nby side}}", BRACES, "Gains by side"),
    "braces in the code": (f"```python\n{BRACES}```", BRACES, None),
    "several blocks": (f"It was\n```python\n{OLD}```\nMine:\n{FINAL}```python\n{USE}\n```", CODE, None),
    "a fence with something else": (f"```\nscore = gain * slack\n```\n\n{CODE}", CODE, None),
    **{
        f"a draft and the final one, {how}": (answer, CODE, None)
        for how, answer in {
            "bare": f"{OLD}\nLet me refine it.\n\n{CODE}",
            "bare, three of them": f"{OLD}\nNo.\n\n{OLD}\nHm, better still:\n{CODE}\nDone.",
            "fenced, then bare": f"{DRAFT}\nFinal:\n\n{CODE}",
            "bare, then fenced": f"{OLD}\nNo, better:\n\n{FINAL}",
            "in one block": f"```python\n{OLD}\n\n{CODE}```",
            "in fences of four and tildes": f"````\n{OLD}````\nNo:\n~~~py\n{CODE}~~~",
            "fences behind words": f"Draft: ```python\n{OLD}```\nFinal: ```python\n{CODE}```",
            "a fence left open": f"```python\n{OLD}\nFinal:\n```python\n{CODE}```",
            "fences closed in the last line": f"```\n{OLD.rstrip()}```\n```\n{CODE.rstrip()}```",
            "indented": f"Draft:\n\n    {OLD.replace(chr(10), chr(10) + '    ')}\nBetter:\n\n{MARGIN}\nDone.",
            "as a replacement": f"<<<<<<< SEARCH\n{OLD}=======\n{CODE}>>>>>>> REPLACE\n",
            "with newlines of old": f"{OLD}\nNo.\n{CODE}".replace("\n", "\r"),
            "with Windows newlines": f"{OLD}\nNo.\n{CODE}".replace("\n", "\r\n"),
            "a template after it": f"{FINAL}Its form:\n```python\n{BODY.splitlines()[0]}\n    ...\n```",
            "its signature after it": f"{FINAL}Its form:\n```python\n{BODY.splitlines()[0]}\n    # as above\n```\n",
            "a thought that stays open": f"<think>\n{DRAFT}\n{FINAL}",
            "an open thought after it": f"{FINAL}\n<thinking>\nOr perhaps\n```python\n{OLD}```\n",
            "harmony without its signs": f"analysisMaybe\n{OLD}Let me refine it.assistantfinalIt is:\n\n{CODE}",
            **{
                f"thoughts between {begin} and {end}, {where}": where.format(f"{begin}{DRAFT}{end}", FINAL)
                for begin, end in (
                    ("<think>", "</think>"),
                    ("<thinking>", "</thinking>"),
                    ("<thought>", "</thought>"),
                    ("<reasoning>", "</reasoning>"),
                    ("<seed:think>", "</seed:think>"),
                    ("[THINK]", "[/THINK]"),
                    ("◁think▷", "◁/think▷"),
                    ("<|START_THINKING|>", "<|END_THINKING|>"),
                    ("<|begin_of_thought|>", "<|end_of_thought|>"),
                    ("<|channel|>analysis<|message|>", "<|end|>"),
                )
                for where in ("{}\n{}", "{1}\n{0}")
            },
        }.items()
    },
    "a draft, then JSON": (f"{DRAFT}{JSON}", CODE, IDEA),
    "JSON in a fence": (f"```json\n{json.dumps(json.loads(JSON), indent=1)}\n```", CODE, IDEA),
    "JSON in JSON": (json.dumps({"name": "submit", "arguments": JSON}), CODE, None),
    "JSON with Windows newlines": (json.dumps({"code": CODE.replace("\n", "\r\n")}), CODE, None),
    "helpers before it": (f"{OLD}\nBetter:\n\n{HELPED}\nDone.", HELPED, None),
    "indented alone": (MARGIN, CODE, None),
    "a block in a list": (f"1. my rule\n\n   ```python\n{INDENTED}   ```", CODE, None),
}


@pytest.mark.parametrize("how", READ)
def test_a_rule_comes_out_as_it_was_written_with_its_thought(how):
    answer, source, thought = READ[how]
    parsed = parse_answer(answer)
    assert (parsed.source, parsed.failure) == (source, None)
    if thought is not None or how in ("bare", "an announcement", "braces in the code"):
        assert parsed.thought == thought


def test_reasoning_that_opens_again_and_again_is_read_once():
    assert "unfinished reasoning" in str(parse_answer("<think>" * 300_000).failure)


@pytest.mark.parametrize(
    "end", [CODE[:-10], f"```python\n{CODE[:-10]}", "```python\nimport ma", JSON[:-60], BODY[:60]]
)
def test_no_draft_is_taken_for_a_rule_that_was_cut_off(end):
    for draft in (DRAFT, f"{OLD}\nBetter:\n\n", f"<think>{DRAFT}", f"{DRAFT}</think>\n"):
        assert parse_answer(f"{draft}{end}", cut_off=True).source is None


@pytest.mark.parametrize(
    "answer",
    [
        f"<think>{DRAFT}",
        f"<think>{DRAFT}</think>I cannot do better.",
        f"{DRAFT}</think>\nI cannot do better.",
        f"{DRAFT}```python\n{CODE.replace('return', 'retrun 1 +')}```",
        f"{DRAFT}{JSON[:-30]}",
        f"{DRAFT}```python\ncandidate_variable_score = lambda x: x[20]\n```",
        f"{DRAFT}```python\n{BODY.replace('_score(', '(')}\ncandidate_variable_score = candidate_variable\n```",
        f"{DRAFT}```python\nclass Rule:\n{MARGIN}```",
    ],
)
def test_no_draft_is_taken_where_no_rule_follows(answer):
    assert parse_answer(answer).source is None


def test_a_parent_is_not_taken_for_the_rule_that_was_cut_off():
    """The answer repeats its parent in a block of its own, and breaks off inside the new rule."""
    begun = BODY.replace("up *", "up * (")[: len(BODY) // 2]
    answer = f"The parent:\n```python\n{CODE}```\nMine:\n```python\n{begun}"
    assert "cut off" in str(parse_answer(answer, cut_off=True).failure)


def test_helpers_and_constants_stay_and_calls_and_idle_imports_go():
    code = (
        "import os\nimport math\nfrom __future__ import annotations\n\nEPS = 1e-9  # floor\n\n\n"
        "def half(x):\n    return x / 2\n\n\n"
        "def candidate_variable_score(variable_features):\n"
        "    return half(math.sqrt(variable_features[18] + EPS))\n\n\n"
        "if __name__ == '__main__':\n    print(candidate_variable_score([0] * 72))\n"
    )
    source = parse_answer(f"```python\n{code}```").source
    assert names(source) == ["half", BRANCHING.function]
    assert "EPS = 1e-9  # floor" in source
    assert source.startswith("import math\n")
    for gone in ("os", "__future__", "__main__", "print"):
        assert gone not in source


def test_a_used_import_that_is_not_allowed_stays_for_the_rule_check_to_refuse():
    code = "import os\n" + BODY.replace("up *", "len(os.name) *")
    assert "import os" in str(parse_answer(code).source)


def test_forgotten_imports_are_added():
    code = BODY.replace("up *", "np.sqrt(math.fabs(up)) *")
    source = parse_answer(f"```python\n{code}```").source
    assert source.startswith("import math\nimport numpy as np\n")


def test_imports_inside_the_function_are_not_doubled():
    code = BODY.replace("    # gains first", "    import math").replace("up *", "math.sqrt(up) *")
    assert str(parse_answer(code).source).count("import math") == 1


@pytest.mark.parametrize(
    ("answer", "part"),
    [
        (None, "empty"),
        ("", "empty"),
        ("  \n ", "empty"),
        ("<think>first I would", "unfinished reasoning"),
        ("I am sorry, but I cannot do that.", '"I am sorry, but I cannot do that."'),
        ("```python\nscore = 1\n```", BRANCHING.function),
        (f"```python\n{BODY.replace('return', 'retrun 1 +')}```", "no valid Python"),
        (f"```python\n{BODY[:60]}", "cut off"),
        (BODY[:60], "cut off"),
        (BODY[:90], "never returns"),
        (BODY.replace("return", "up ="), "never returns"),
        ("class A:\n    def candidate_variable_score(self, x):\n        return 1\n", BRANCHING.function),
        ("def candidate_variable_score(x):\n    return '\0'", "no valid Python"),
    ],
)
def test_what_is_no_rule_has_a_sentence_that_says_why(answer, part):
    parsed = parse_answer(answer)
    assert parsed.source is None
    assert part in parsed.failure
    assert "\n" not in parsed.failure


def test_an_answer_cut_off_after_an_early_return_is_not_taken():
    code = "def candidate_variable_score(x):\n    if x[18] < 0.1:\n        return 0.0"
    assert parse_answer(f"```python\n{code}", cut_off=True).source is None
    assert parse_answer(f"```python\n{code}\n```\nAnd then", cut_off=True).source is not None


@given(st.text(max_size=300))
def test_any_text_is_read_without_an_exception(answer):
    parsed = parse_answer(answer)
    assert (parsed.source is None) != (parsed.failure is None)


@given(
    st.integers(0, len(CODE)), st.sampled_from(["{}", "```python\n{}", "```python\n{}\n```", "Look:\n\n{}"])
)
def test_a_rule_cut_anywhere_gives_the_rule_or_a_failure(end, frame):
    parsed = parse_answer(frame.replace("{}", CODE[:end]))
    if parsed.source is not None:
        assert "return" in parsed.source
        ast.parse(parsed.source)


def test_a_stray_backslash_in_a_docstring_prints_no_warning():
    code = BODY.replace("    # gains first", '    """Uses \\sqrt of gains."""')
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert parse_answer(f"```python\n{code}```").source == code
