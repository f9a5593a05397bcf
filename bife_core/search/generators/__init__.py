"""Rule generators: a model API, an offline grammar, and recorded answers, behind one method.

`docs/developers/extending.md` shows how another package adds one.
"""

from __future__ import annotations

from bife_core.search.generators.account import (
    Account as Account,
    BudgetReachedError as BudgetReachedError,
    Spending as Spending,
)
from bife_core.search.generators.base import (
    Draft as Draft,
    DraftingStoppedError as DraftingStoppedError,
    Generator as Generator,
    Message as Message,
    NoDraftError as NoDraftError,
    PromptContext as PromptContext,
)
from bife_core.search.generators.config import GENERATORS as GENERATORS, GeneratorConfig


def open_generator(config: GeneratorConfig, account: Account) -> Generator:
    """Return the generator that `config` names; a `GeneratorError` or `ConfigError` says what is missing."""
    return GENERATORS.find(config.kind)(config, account)
