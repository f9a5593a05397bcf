"""Searches over branching rules: values that ask for samples and solves and are told the answers."""

from __future__ import annotations

from bife_core.search.bife import BifeSearch
from bife_core.search.cost import PARTS, CostLedger, CostPoint, SearchCost
from bife_core.search.history import History, HistoryError, replay
from bife_core.search.registry import SEARCHES, open_search
from bife_core.search.sampled import ATTEMPTS_PER_SAMPLE, SampledSearch
from bife_core.search.seeding import candidate_id, candidate_seed
from bife_core.search.summary import GenerationSummary, ReportingSearch, summarise
from bife_core.search.types import (
    Answer,
    Candidate,
    ReflectionAnswer,
    ReflectionRequest,
    Request,
    SampleAnswer,
    SampleRequest,
    Search,
    SolveAnswer,
    SolveRequest,
    TrialAnswer,
    TrialRequest,
)

__all__ = [
    "ATTEMPTS_PER_SAMPLE",
    "PARTS",
    "SEARCHES",
    "Answer",
    "BifeSearch",
    "Candidate",
    "CostLedger",
    "CostPoint",
    "GenerationSummary",
    "History",
    "HistoryError",
    "ReflectionAnswer",
    "ReflectionRequest",
    "ReportingSearch",
    "Request",
    "SampleAnswer",
    "SampleRequest",
    "SampledSearch",
    "Search",
    "SearchCost",
    "SolveAnswer",
    "SolveRequest",
    "TrialAnswer",
    "TrialRequest",
    "candidate_id",
    "candidate_seed",
    "open_search",
    "replay",
    "summarise",
]
