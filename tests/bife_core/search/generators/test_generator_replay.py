import pytest

from bife_core.base.errors import GeneratorError
from bife_core.language.rules import check_source
from bife_core.language.rules.types import Program
from bife_core.search import Sample, SampleRequest
from bife_core.search.generators.account import recorded_calls
from bife_core.search.generators.base import PromptContext
from bife_core.search.generators.config import GeneratorConfig
from bife_core.search.generators.prompting import assemble, prompt_digest, prompt_version
from bife_core.search.generators.replay import ReplayGenerator
from bife_core.solver.methods.references import method_of
from tests.support.documents import DOCS
from tests.support.journals import call
from tests.support.model_answers import good_answer, rule_source
from tests.support.stored import record

ABOUT = PromptContext(benchmark="set_covering")


def request(key, seed=0, operator="i1"):
    parent = Sample(id="p", generation=0, operator="i1", source=rule_source(9))
    parents = () if operator == "i1" else (parent,)
    return SampleRequest(id=key, generation=1, operator=operator, parents=parents, seed=seed)


def recorded(directory, asked, answer, number=1):
    messages = assemble(asked, ABOUT)
    sent = call(
        asked.id, number=number, prompt_digest=prompt_digest(messages), prompt_version=prompt_version()
    )
    ended = {"status": "error", "error": "timeout."} if answer is None else {"status": "ok", "answer": answer}
    record(directory, sent.model_copy(update={"messages": messages, **ended}))


def replaying(folder):
    return ReplayGenerator(GeneratorConfig(kind="replay", replay_from=folder), account=None)


def test_the_same_prompt_is_preferred_under_the_same_key(tmp_path):
    recorded(tmp_path, request("k", operator="m1"), good_answer(1), number=1)
    recorded(tmp_path, request("k", operator="m2"), good_answer(2), number=2)
    replay = replaying(tmp_path)
    assert replay.generate(request("k", operator="m1"), ABOUT).source == rule_source(1)
    assert replay.generate(request("k", operator="e1"), ABOUT).source == rule_source(2)


def test_an_unknown_key_gets_an_answer_to_the_same_prompt_by_its_seed(tmp_path):
    for number in range(3):
        recorded(tmp_path, request(f"g00-c{number:02d}"), good_answer(number))
    replay = replaying(tmp_path)
    sources = [replay.generate(request("other", seed), ABOUT).source for seed in range(3)]
    assert sources == [rule_source(number) for number in range(3)]
    assert replay.generate(request("other", 2), ABOUT).source == sources[2]


def test_a_request_without_a_recording_fails_with_its_key(tmp_path):
    recorded(tmp_path, request("g00-c00"), good_answer(0))
    generation = replaying(tmp_path).generate(request("g05-c02", operator="m1"), ABOUT)
    assert generation.source is None
    assert "g05-c02" in str(generation.failure)


def test_failed_calls_are_never_replayed(tmp_path):
    recorded(tmp_path, request("a"), good_answer(0), number=1)
    recorded(tmp_path, request("a"), None, number=2)
    assert replaying(tmp_path).generate(request("a"), ABOUT).source == rule_source(0)


def test_a_recorded_refusal_stays_a_failure(tmp_path):
    recorded(tmp_path, request("a"), "I cannot help with that.")
    assert "I cannot help" in str(replaying(tmp_path).generate(request("a"), ABOUT).failure)


def test_a_directory_without_answers_is_refused(tmp_path):
    recorded(tmp_path / "failed", request("a"), None)
    for name in ("none", "", "failed"):
        with pytest.raises(GeneratorError, match="holds no recorded answers"):
            replaying(tmp_path / name)


ANSWERS = DOCS / "research" / "answers"


@pytest.mark.parametrize(
    "folder",
    sorted({path.parent for path in ANSWERS.rglob("*.json")}),
    ids=lambda path: str(path.relative_to(ANSWERS)),
)
def test_the_answers_beside_the_documents_are_rules(folder):
    calls, of_starts = recorded_calls(folder), bool({"item_placement", "starts"} & {*folder.parts})
    assert len(calls) == len(list(folder.iterdir())) >= (10 if of_starts else 32)
    replay, component = replaying(folder), "start" if of_starts else "branching"
    for made in calls:
        sample_request = request(made.key, operator=made.operator).model_copy(update={"component": component})
        source = replay.generate(sample_request, ABOUT).source
        if of_starts:
            assert method_of(source).start.source == source
        else:
            assert isinstance(check_source(source), Program), made.key
