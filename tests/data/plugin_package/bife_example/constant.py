"""A generator that only ever proposes the pseudocost product."""

from __future__ import annotations

from bife_core.extend import (
    Account,
    Draft,
    GeneratorConfig,
    PromptContext,
    ReflectionRequest,
    WrittenRequest,
)

SOURCE = """
def candidate_variable_score(variable_features) -> float:
    return variable_features[24]
"""


class ConstantGenerator:
    name = "constant"

    def generate(self, request: WrittenRequest, context: PromptContext) -> Draft:
        draft = Draft(model="none")
        if isinstance(request, ReflectionRequest):
            return draft.model_copy(update={"text": "Favour large pseudocosts."})
        return draft.model_copy(update={"source": SOURCE, "thought": "The pseudocost product."})


def make(config: GeneratorConfig, account: Account) -> ConstantGenerator:
    return ConstantGenerator()
