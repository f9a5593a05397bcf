"""Rule generators: a model API, an offline grammar, and recorded answers, behind one method.

To add one, write a class with `name` and `generate`, and enter a function that makes it in `GENERATORS`;
`docs/adding-a-generator.md` shows how.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from bife_core.config import GeneratorConfig
from bife_core.errors import GeneratorError
from bife_core.generators.account import Account, BudgetReachedError, Spending
from bife_core.generators.base import (
    Attempt,
    Draft,
    DraftRequest,
    Generator,
    Message,
    ParentRule,
)

__all__ = [
    "GENERATORS",
    "Account",
    "Attempt",
    "BudgetReachedError",
    "Draft",
    "DraftRequest",
    "Generator",
    "Message",
    "ParentRule",
    "Spending",
    "open_generator",
]


# Modules are imported when their generator is asked for: the openai package takes most of a second to load.
def _offline(config: GeneratorConfig, account: Account) -> Generator:
    from bife_core.generators.offline import OfflineGenerator

    return OfflineGenerator()


def _openai(config: GeneratorConfig, account: Account) -> Generator:
    from bife_core.generators.model_settings import ModelApiSettings
    from bife_core.generators.openai_compatible import OpenAIGenerator

    chosen = {"model": config.model, "temperature": config.temperature}
    update = {name: value for name, value in chosen.items() if value is not None}
    settings = ModelApiSettings.from_environment().model_copy(update=update)
    return OpenAIGenerator(settings, account)


def _replay(config: GeneratorConfig, account: Account) -> Generator:
    from bife_core.generators.replay import ReplayGenerator

    if config.replay_from is None:
        raise GeneratorError("The replay generator needs 'replay_from', a directory of recorded answers.")
    return ReplayGenerator(config.replay_from)


GENERATORS: Final[dict[str, Callable[[GeneratorConfig, Account], Generator]]] = {
    "offline": _offline,
    "openai": _openai,
    "replay": _replay,
}
"""Maker of every generator, by the `kind` of its configuration."""


def open_generator(config: GeneratorConfig, account: Account) -> Generator:
    """Return the generator that `config` names.

    Parameters
    ----------
    config : GeneratorConfig
        Kind and, for a model API, model and temperature; address and key come from the environment.
    account : Account
        Where calls to a model API are recorded and found again, and what they may cost.

    Raises
    ------
    GeneratorError
        If the generator cannot be set up: a setting is missing or the recorded answers are.
    ConfigError
        If money is limited and the model's prices are not known.
    """
    return GENERATORS[config.kind](config, account)
