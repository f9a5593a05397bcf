"""Studies: `create_study` and `evolve` run a search from where its events end, in a notebook as in a Prefect flow."""

from bife_core.study.engine import Evolution, EvolutionState, Watcher
from bife_core.study.journal import Journal, JournalError, Opened
from bife_core.study.study import (
    Study,
    content_of,
    create_study,
    evolution_facts,
    evolution_key,
    evolve,
    generator_identity,
)

__all__ = [
    "Evolution",
    "EvolutionState",
    "Journal",
    "JournalError",
    "Opened",
    "Study",
    "Watcher",
    "content_of",
    "create_study",
    "evolution_facts",
    "evolution_key",
    "evolve",
    "generator_identity",
]
