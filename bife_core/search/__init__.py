"""Searches over branching rules: values that ask for samples and solves and are told the answers."""

from __future__ import annotations

from bife_core.search.base import Answered, BaseSearch, NoOptions, solved_sample, trial_costs
from bife_core.search.bife import BifeSearch
from bife_core.search.config import SEARCHES, open_search
from bife_core.search.cost import PARTS, CostLedger, CostPoint, SearchCost
from bife_core.search.drawing import sample_seed
from bife_core.search.types import (
    Answer,
    GenerationSummary,
    ReflectionAnswer,
    ReflectionRequest,
    Request,
    Sample,
    SampleAnswer,
    SampleRequest,
    Search,
    SolveAnswer,
    SolveRequest,
    TrialAnswer,
    TrialRequest,
    WrittenRequest,
)

__all__ = [
    "PARTS",
    "SEARCHES",
    "Answer",
    "Answered",
    "BaseSearch",
    "BifeSearch",
    "CostLedger",
    "CostPoint",
    "GenerationSummary",
    "NoOptions",
    "ReflectionAnswer",
    "ReflectionRequest",
    "Request",
    "Sample",
    "SampleAnswer",
    "SampleRequest",
    "Search",
    "SearchCost",
    "SolveAnswer",
    "SolveRequest",
    "TrialAnswer",
    "TrialRequest",
    "WrittenRequest",
    "open_search",
    "sample_seed",
    "solved_sample",
    "trial_costs",
]
