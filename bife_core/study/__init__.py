"""The driver of searches: `evolve` runs one from its folder's journal on, in a notebook as in a Prefect flow."""

from bife_core.study.driver import Evolution
from bife_core.study.evaluator import Evaluator, Executor, Pending, UnansweredError
from bife_core.study.identity import content_of, evolution_facts, evolution_key, generator_identity
from bife_core.study.journal import Journal, JournalError, Opened
from bife_core.study.study import CONCURRENT_WORK, Study, create_study, evolve
from bife_core.study.watching import EvolutionState, Watcher

__all__ = [
    "CONCURRENT_WORK",
    "Evaluator",
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
    "content_of",
    "create_study",
    "evolution_facts",
    "evolution_key",
    "evolve",
    "generator_identity",
]
