"""Rules from recorded answers: a run repeated without a network and without a bill."""

from __future__ import annotations

from pathlib import Path

from bife_core.errors import GeneratorError
from bife_core.generators.account import Account, recorded_calls
from bife_core.generators.base import Draft, PromptContext
from bife_core.generators.config import GeneratorConfig, Prompts
from bife_core.generators.parsing import read_answer
from bife_core.generators.prompting import assemble, assemble_repair, prompt_digest
from bife_core.search.types import WrittenRequest


class ReplayGenerator:
    """Answers each request with what a model answered in an earlier run.

    An answer is found under the request's key, best with the same prompt; where the key has none, under the
    prompt alone. Several keys can share a prompt, as those of operator i1 do: the request's seed picks one. The
    directory holds an earlier run's store, or recorded calls, one JSON file each.
    """

    name = "replay"

    def __init__(self, directory: Path, prompts: Prompts = "informed") -> None:
        self.prompts: Prompts = prompts
        self.needs_context = prompts == "informed"
        self.directory = directory
        self._answers = [call for call in recorded_calls(directory) if call.status == "ok"]
        if not self._answers:
            raise GeneratorError(
                f"{directory} holds no recorded answers: a folder with a store or with files <key>.<number>.json "
                "was expected."
            )

    def generate(self, request: WrittenRequest, context: PromptContext) -> Draft:
        """Return the recorded rule; a request without a recorded answer gives a failure, not an error."""
        messages = assemble(request, context, self.prompts)
        digest = prompt_digest(messages)
        under_key = [call for call in self._answers if call.key == request.id]
        under_prompt = [call for call in self._answers if call.prompt_digest == digest]
        if under_key:
            call = max(under_key, key=lambda call: (call.prompt_digest == digest, call.number))
        elif under_prompt:
            call = under_prompt[request.seed % len(under_prompt)]
        else:
            return Draft(
                key=request.id,
                generator=self.name,
                model=self._answers[-1].model,
                messages=messages,
                failure=f"{self.directory} holds no answer for {request.id!r} or for the same prompt.",
            )
        return read_answer(request, self.name, call, recorded=True)

    def repair(
        self, request: WrittenRequest, context: PromptContext, rejected: Draft, reason: str
    ) -> Draft | None:
        """Return what the model answered to the same reason, if it was asked a second time too."""
        messages = assemble_repair(rejected, reason)
        digest = None if messages is None else prompt_digest(messages)
        recorded = [c for c in self._answers if (c.key, c.prompt_digest) == (request.id, digest)]
        if not recorded:
            return None
        draft = read_answer(request, self.name, recorded[-1], recorded=True)
        return draft.model_copy(update={"attempts": (*rejected.attempts, *draft.attempts)})


def configured(config: GeneratorConfig, account: Account) -> ReplayGenerator:
    """Return the generator for `config.replay_from`."""
    assert config.replay_from is not None  # `GeneratorConfig` sees to it
    return ReplayGenerator(config.replay_from, config.prompts)
