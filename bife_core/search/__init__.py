"""Searches over branching rules: values that ask for samples and solves, and take the answers."""

from bife_core.search.base import BaseSearch as BaseSearch, open_search as open_search
from bife_core.search.bife import BifeSearch as BifeSearch
from bife_core.search.config import SEARCHES as SEARCHES
from bife_core.search.population import sample_id as sample_id, sample_seed as sample_seed
from bife_core.search.types import (
    PARTS as PARTS,
    CostPoint as CostPoint,
    Draft as Draft,
    GenerationSummary as GenerationSummary,
    ReflectionRequest as ReflectionRequest,
    Request as Request,
    Sample as Sample,
    SampleRequest as SampleRequest,
    SearchCost as SearchCost,
    SolveRequest as SolveRequest,
    TrialRequest as TrialRequest,
    WrittenRequest as WrittenRequest,
)
