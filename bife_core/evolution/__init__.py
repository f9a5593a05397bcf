"""The driver of searches: `evolve` runs one from its folder's journal on, in a notebook as in a Prefect flow."""

from bife_core.evolution.drafting import UnansweredError
from bife_core.evolution.driver import Evolution
from bife_core.evolution.identity import content_of, evolution_facts, evolution_key, generator_identity
from bife_core.evolution.journal import Journal, JournalError, Opened
from bife_core.evolution.study import CONCURRENT_WORK, Study, create_study, evolve
from bife_core.evolution.watching import EvolutionState, Watcher
from bife_core.evolution.workshop import Executor, Pending, Workshop

__all__ = [
    "CONCURRENT_WORK",
    "Evolution",
    "EvolutionState",
    "Executor",
    "Journal",
    "JournalError",
    "Opened",
    "Pending",
    "Study",
    "UnansweredError",
    "Watcher",
    "Workshop",
    "content_of",
    "create_study",
    "evolution_facts",
    "evolution_key",
    "evolve",
    "generator_identity",
]
