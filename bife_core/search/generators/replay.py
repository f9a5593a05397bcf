"""Rules from recorded answers: a run repeated without a network and without a bill."""

from __future__ import annotations

from collections.abc import Callable

from bife_core.base.errors import GeneratorError
from bife_core.search.generators.account import Account, Call, recorded_calls
from bife_core.search.generators.base import Draft, Message, PromptContext
from bife_core.search.generators.config import GeneratorConfig
from bife_core.search.generators.parsing import read_answer
from bife_core.search.generators.prompting import assemble, assemble_repair, prompt_digest
from bife_core.search.types import WrittenRequest


class ReplayGenerator:
    """Answers each request with what a model answered in an earlier run.

    Its store or JSON files are in the folder `config.replay_from`. An answer is found under the request's key, best
    with the same prompt, else under the prompt alone, of several one by the request's seed.
    """

    name = "replay"

    def __init__(self, config: GeneratorConfig, account: Account) -> None:
        assert config.replay_from is not None  # `GeneratorConfig` sees to it
        self.prompts, self.directory = config.prompts, config.replay_from
        self.needs_context = self.prompts == "informed"
        self._answers = [call for call in recorded_calls(self.directory) if call.status == "ok"]
        if not self._answers:
            raise GeneratorError(
                f"{self.directory} holds no recorded answers: a folder with a store or with files <key>.<number>.json "
                "was expected."
            )

    def generate(self, request: WrittenRequest, context: PromptContext) -> Draft:
        """Return the recorded rule; a request without a recorded answer gives a failure, not an error."""
        call = self._recorded(request, context)
        if call is not None:
            return read_answer(request, call)
        failure = f"{self.directory} holds no answer for {request.id!r} or for the same prompt."
        return Draft(model=self._answers[-1].model, failure=failure)

    def _recorded(self, request: WrittenRequest, context: PromptContext) -> Call | None:
        digest = prompt_digest(assemble(request, context, self.prompts))
        under_key = [call for call in self._answers if call.key == request.id]
        if under_key:
            return max(under_key, key=lambda call: (call.prompt_digest == digest, call.number))
        under_prompt = [call for call in self._answers if call.prompt_digest == digest]
        return under_prompt[request.seed % len(under_prompt)] if under_prompt else None

    def ask(self, key: str, prompt: Callable[[], tuple[Message, ...]]) -> str | None:
        """Return the last recorded answer under a key."""
        return next((call.answer for call in reversed(self._answers) if call.key == key), None)

    def repair(
        self, request: WrittenRequest, context: PromptContext, rejected: Draft, reason: str
    ) -> Draft | None:
        """Return what the model answered to the same reason, if it was asked a second time too."""
        first = self._recorded(request, context)
        if first is None:
            return None
        wanted = request.id, prompt_digest(assemble_repair(first, reason))
        recorded = [call for call in self._answers if (call.key, call.prompt_digest) == wanted]
        return read_answer(request, recorded[-1]) if recorded else None
