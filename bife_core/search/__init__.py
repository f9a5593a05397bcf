"""Searches over branching rules: values that ask for samples and solves and are told the answers."""

from __future__ import annotations

from bife_core.search.bife import ATTEMPTS_PER_SAMPLE, BifeSearch
from bife_core.search.cost import PARTS, CostLedger, CostPoint, SearchCost
from bife_core.search.history import History, HistoryError, replay
from bife_core.search.registry import SEARCHES, open_search
from bife_core.search.seeding import candidate_id, candidate_seed
from bife_core.search.summary import GenerationSummary, ReportingSearch, summarise
from bife_core.search.types import (
    Answer,
    Candidate,
    Request,
    SampleAnswer,
    SampleRequest,
    Search,
    SolveAnswer,
    SolveRequest,
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
    "ReportingSearch",
    "Request",
    "SampleAnswer",
    "SampleRequest",
    "Search",
    "SearchCost",
    "SolveAnswer",
    "SolveRequest",
    "candidate_id",
    "candidate_seed",
    "open_search",
    "replay",
    "summarise",
]
