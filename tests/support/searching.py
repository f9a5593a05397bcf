"""Answers to searches in tests, by hand and from tables."""

from bife_core.measure.high import HighScore
from bife_core.measure.low import LowScore
from bife_core.search import Draft, SampleRequest, SolveRequest
from bife_core.search.answers import Answered


def reply(request, **fields):
    """Answer a request by fields of a draft, of a score on decisions, or of solves."""
    if request.kind == "reflection":
        return Answered(request=request, draft=Draft(**fields))
    if request.kind in ("solve", "trial"):
        return Answered(request=request, high=HighScore(**fields))
    written = {name: fields.pop(name) for name in ("source", "thought") if name in fields}
    return Answered(request=request, draft=Draft(**written), low=LowScore(**fields))


def answered(search, *answers):
    """Have a search ask, and tell it answers, which are ids with fields."""
    requests = {request.id: request for request in search.ask()}
    search.tell([reply(requests[name], **fields) for name, fields in answers])


def sample(name, f_lf=None, **fields):
    """Answer a request for a rule."""
    return name, {"f_lf": f_lf, **fields}


def solve(name, f_hf=None, **fields):
    """Answer a request to solve."""
    return name, {"f_hf": f_hf, **fields}


def table(f_lf, f_hf=None):
    """Answer from tables by id; a sample that is not in its table fails, and so does a solve."""

    def answer(request):
        assert isinstance(request, SampleRequest | SolveRequest)
        if isinstance(request, SampleRequest):
            score = f_lf.get(request.id)
            return reply(request, f_lf=score, failure=None if score is not None else "no code")
        cost = (f_hf or {}).get(request.id)
        return reply(request, f_hf=cost, failure=None if cost is not None else "solver died")

    return answer


def ids(samples):
    """Return the ids of samples."""
    return [sample.id for sample in samples]


def wishes(search):
    """Return kind, id, operator and parents of what is asked next."""
    asked = []
    for request in search.ask():
        how = "", ()
        if isinstance(request, SampleRequest):
            how = request.operator, tuple(ids(request.parents))
        asked.append((request.kind, request.id, *how))
    return asked
