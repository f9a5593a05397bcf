from .base import BaseSearch as BaseSearch, open_search as open_search
from .bife import BifeSearch as BifeSearch
from .config import SEARCHES as SEARCHES
from .population import sample_id as sample_id, sample_seed as sample_seed
from .types import (
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
