"""Answers to searches in tests, by hand and from tables."""

from bife_core.search import Answer, SampleRequest, SolveRequest


def answered(search, *answers):
    """Have a search ask, and tell it these answers."""
    search.ask()
    search.tell(answers)


def sample(name, f_lf=None, **fields):
    """Answer a request for a rule."""
    return Answer(id=name, f_lf=f_lf, **fields)


def solve(name, f_hf=None, **fields):
    """Answer a request to solve."""
    return Answer(id=name, f_hf=f_hf, **fields)


def table(f_lf, f_hf=None):
    """Answer from tables by id; a sample that is not in its table fails, and so does a solve."""

    def answer(request):
        assert isinstance(request, SampleRequest | SolveRequest)
        if isinstance(request, SampleRequest):
            score = f_lf.get(request.id)
            return Answer(id=request.id, f_lf=score, failure=None if score is not None else "no code")
        cost = (f_hf or {}).get(request.id)
        return Answer(id=request.id, f_hf=cost, failure=None if cost is not None else "solver died")

    return answer


def ids(samples):
    """Return the ids of samples."""
    return [sample.id for sample in samples]


def wishes(search):
    """Return kind, id, operator and parents of what is asked next."""
    asked = []
    for one in search.ask():
        how = (one.operator, tuple(ids(one.parents))) if isinstance(one, SampleRequest) else ("", ())
        asked.append((one.kind, one.id, *how))
    return asked
