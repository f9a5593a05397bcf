"""Searches over branching rules: values that ask for samples and solves, and take the answers."""

from bife_core.search.base import Answered, BaseSearch, solved_sample
from bife_core.search.bife import BifeSearch
from bife_core.search.config import SEARCHES, open_search
from bife_core.search.cost import PARTS, CostPoint, SearchCost
from bife_core.search.population import sample_id, sample_seed
from bife_core.search.types import (
    Answer,
    GenerationSummary,
    ReflectionRequest,
    Request,
    Sample,
    SampleRequest,
    Search,
    SolveRequest,
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
    "CostPoint",
    "GenerationSummary",
    "ReflectionRequest",
    "Request",
    "Sample",
    "SampleRequest",
    "Search",
    "SearchCost",
    "SolveRequest",
    "TrialRequest",
    "WrittenRequest",
    "open_search",
    "sample_id",
    "sample_seed",
    "solved_sample",
]
