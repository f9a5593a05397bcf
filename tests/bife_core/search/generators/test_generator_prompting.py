import hashlib

import pytest

from bife_core.base.errors import ConfigError
from bife_core.language.features import FEATURES
from bife_core.search import ReflectionRequest, Sample, SampleRequest
from bife_core.search.generators.base import FeatureRange, Message, PromptContext
from bife_core.search.generators.parsing import parse_answer
from bife_core.search.generators.prompting import OPERATORS, assemble, assemble_repair, prompt_digest
from tests.support import journals

ABOUT = PromptContext(benchmark="set_covering")

FIRST = {"source": "def one(): return '$notaplaceholder {x}'", "thought": "first thought", "f_lf": 0.25}
PARENTS = (
    Sample(id="g00-c01", generation=0, operator="i1", **FIRST),
    Sample(id="g00-c02", generation=0, operator="i1", source="def two(): return 2"),
)


def request(operator, parents=PARENTS):
    return SampleRequest(id="k", generation=1, operator=operator, parents=parents, seed=1)


def text(operator):
    (message,) = assemble(request(operator), ABOUT, "paper")
    return message.content


PLAIN = {"i1": "ec8e5a3cc9099c81", "e1": "2c690ae3af3afe6a", "e2": "1f5b649292281452"}
PLAIN |= {"m1": "49b34688933840b4", "m2": "9d587b7590663ca1"}
"""Hashes of the plain prompts: recorded answers are found by them."""


@pytest.mark.parametrize("operator", OPERATORS)
def test_the_plain_prompts_are_as_they_were(operator):
    assert hashlib.sha256(text(operator).encode()).hexdigest()[:16] == PLAIN[operator]


def test_an_informed_prompt_as_a_whole(golden_dir):
    ranges = tuple(
        FeatureRange(
            index=feature.index,
            quantiles=(0.0, 0.1, 1.0, 20.0, 1234.5 if feature.index < 3 else 0.0),
            alone=0.25,
            repeats=0 if feature.index == 2 else None,
        )
        for feature in FEATURES
    )
    failed = PARENTS[0].model_copy(update={"id": "g00-c03", "failure": "The name 'foo' is not defined."})
    context = PromptContext(
        benchmark="set_covering",
        instances=("Variables: 1000 binary.", "Constraints: 500 set covering."),
        features=ranges,
        low="the share of agreement",
        high="minus the mean CPU seconds",
        likeness=0.954,
        rpb=-16.0,
        earlier=(*PARENTS, failed),
        failings={"g00-c01": ("It fails at the root.",)},
        executions={"g00-c01": "instance | nodes\n1 | 500\n\nOf its CPU time the root took 40%."},
        tau=0.24,
        regrets={"g00-c01": 0.12},
    )
    solved = PARENTS[0].model_copy(update={"f_hf": -12.0})
    (message,) = assemble(request("e2", (solved, PARENTS[1])), context)
    assert message.content == (golden_dir / "informed_prompt.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("known", "standing"),
    [
        ({"f_hf": -5.0}, "the best rule so far"),
        ({"f_hf": -7.0}, "a rule that works"),
        ({"f_hf": -9.0}, "a rule that works, but is slower than SCIP's own"),
        (
            {"eliminated": "it took 2 times as much"},
            "a rule that was eliminated by racing, since it was too slow to be kept",
        ),
        ({}, "a rule that was not evaluated in the solver"),
    ],
)
def test_a_rule_to_change_is_called_what_its_solves_show(known, standing):
    earlier = PARENTS[1].model_copy(update={"f_hf": -6.0})
    context = ABOUT.model_copy(update={"rpb": -8.0, "earlier": (earlier,)})
    parent = PARENTS[0].model_copy(update=known)
    for operator in ("m1", "m2"):
        content = assemble(request(operator, (parent,)), context)[0].content
        assert f"# Your task\n\nBelow is {standing}. " in content
        (plain,) = assemble(request(operator, (parent,)), context, "paper")
        assert "Below is a rule that works. " in plain.content


def test_the_best_rule_is_shown_in_full_where_a_rule_has_parents():
    best = Sample(id="g00-c09", generation=0, operator="i1", source="def best(): return 3", f_hf=-2.0)
    slower = PARENTS[0].model_copy(update={"f_hf": -6.0})
    copy = Sample(id="g01-c00", generation=1, operator="e1", f_lf=0.3, duplicate_of="g00-c01")
    context = ABOUT.model_copy(
        update={"earlier": (slower, best, copy), "executions": {"g00-c09": "instance | nodes"}, "tau": 0.24}
    )
    for operator, parents, number in (("e2", (slower, PARENTS[1]), 3), ("m1", (slower,), 2)):
        content = assemble(request(operator, parents), context)[0].content
        shown = content.split("# Where the search stands\n\n")[1]
        assert shown.startswith("A rule is now evaluated in the solver if its F_LF is 0.240 or more.\n\n")
        without = "Its author left no description."
        assert f"Rule {number}. {without}\nF_HF -2. It is the best rule so far." in shown
        assert "instance | nodes\n\n```python\ndef best(): return 3\n```" in shown
        assert "F_LF 0.300, chose in all recorded decisions like a rule of F_LF 0.250, F_HF -6" in content
    assert "def best" not in assemble(request("i1", ()), context)[0].content, "it has a theme of its own"
    assert assemble(request("m1", (best,)), context)[0].content.count("def best") == 1


def test_prompts_of_one_search_begin_alike_up_to_the_task():
    about = {"instances": ("Variables: 9 binary.",), "fitting": True, "low": "a share", "high": "a cost"}
    context = ABOUT.model_copy(update=about)
    later = {"tau": 0.3, "earlier": (PARENTS[0].model_copy(update={"f_hf": -6.0}),)}
    asked, known = (request("e1"), request("m2")), (context, context.model_copy(update=later))
    contents = [assemble(each, about)[0].content for each in asked for about in known]
    assert len({content.partition("# Your task")[0] for content in contents}) == 1
    assert len(set(contents)) == 4


@pytest.mark.parametrize("operator", OPERATORS)
def test_numbers_that_are_fitted_afterwards_are_said_to_be(operator):
    context = ABOUT.model_copy(update={"fitting": True, "fitted": ("g00-c01",)})
    (message,) = assemble(request(operator), context)
    assert "fitted to the recorded decisions after" in message.content
    assert ("other values for them" in message.content) is False
    if "Rule 1" in message.content:
        assert "Rule 1. first thought (its numbers were fitted since).\n" in message.content
    (plain,) = assemble(request(operator), context, "paper")
    assert plain.content == text(operator)


def test_the_template_is_itself_a_complete_answer():
    (message,) = assemble(request("i1", ()), ABOUT)
    answer = message.content[message.content.index("# How to answer") :]
    assert parse_answer(answer).source is not None


def test_the_digest_depends_on_the_content():
    one, other = (assemble(request("m1"), ABOUT), assemble(request("m2"), ABOUT))
    assert prompt_digest(one) == prompt_digest(assemble(request("m1"), ABOUT))
    assert prompt_digest(one) != prompt_digest(other)
    assert prompt_digest(one) != prompt_digest((Message(role="system", content=one[0].content),))


@pytest.mark.parametrize(
    ("answer", "shown"),
    [("<think>Hm.</think>A rule", "A rule"), ("Hm.</think>A rule", "A rule"), ("<think>Hm", "(no text)")],
)
def test_a_model_asked_again_is_shown_its_answer_without_its_reasoning(answer, shown):
    _, said, _ = assemble_repair(journals.call("a", status="ok", answer=answer), "It fails.")
    assert said == Message(role="assistant", content=shown)


def test_an_operator_of_another_package_brings_its_own_prompt():
    own = "# Your task\n\nMix $count rules.\n\n$parents\n\nHints:\n$hints"
    asked = request("mix").model_copy(update={"prompt": own, "hints": ("Use slack.",)})
    content = assemble(asked, ABOUT)[0].content
    assert "Mix 2 rules." in content
    assert "- Use slack." in content
    text = ReflectionRequest(id="r", generation=1, operator="why", prompt="Say why.\n$parents", seed=0)
    assert "# How to answer" not in assemble(text, ABOUT)[0].content
    with pytest.raises(ConfigError, match="'mix' is not one of i1, e1"):
        assemble(request("mix"), ABOUT)
