"""Journals of searches that never ran, with all that a search's journal can hold."""

import json
from decimal import Decimal

from bife_core.measure.high import HighScore
from bife_core.measure.low import LowScore
from bife_core.run.study import files as reports
from bife_core.run.study.journal import Completed, Ended, Journal, Opened
from bife_core.search import (
    GenerationSummary,
    ReflectionRequest,
    Sample,
    SampleRequest,
    SearchCost,
    SolveRequest,
)
from bife_core.search.answers import Answered
from bife_core.search.generators import Account, Draft, Message
from bife_core.search.generators.account import Call

SOURCE = "def candidate_variable_score(variable_features) -> float:\n    return variable_features[18]\n"
WRITE = Message(role="user", content="write a rule")
BEST = Sample(id="g01-c00", generation=1, operator="m1", sha="abc", source=SOURCE, f_lf=0.5, f_hf=-2.0)


def attempt(status="ok", **known):
    """Return what came of a call."""
    return {"started_unix_s": 1_700_000_000.0, "seconds": 2.0, "status": status} | known


def call(key, **known):
    """Return a call as it is written down before it goes out."""
    facts = {"number": 1, "generation": 0, "started_unix_s": 1_700_000_000.0, "status": "sent"}
    facts |= {"model": "stand-in", "base_url": "http://127.0.0.1"}
    facts |= {"prompt_digest": "0", "prompt_version": "0"}
    return Call(key=key, messages=(WRITE,), **facts | known)


TRIED_TWICE = (
    attempt("error", error="HTTP 500", http_status=500),
    attempt(answer="a rule", prompt_tokens=10, completion_tokens=5, cost_usd=Decimal("0.25")),
)


def opened(key, folder, provenance=None, store=None, **known):
    """Open the events of a search, or take it up again; in the home's store unless another is given."""
    from bife_tasks.stores import home_store

    known = {"name": "a search", "params": {"search.seed": 0}, "tags": {"benchmark": "toys"}} | known
    journal = Journal(folder, Opened(key=key, **known), provenance, store or home_store())
    journal.start()
    return journal


def draft(name, *, source=SOURCE, **known):
    return Draft(generator="openai", model="stand-in", source=source, **known)


def add_calls(journal, name, attempts, operator="m1"):
    """Store the calls for a request that are not there yet."""
    account = Account(journal.store, journal.key)
    for made in attempts[len(account.calls(name)) :]:
        sent = account.begin(call(name, generation=int(name[1:3]), operator=operator))
        account.finish(sent.model_copy(update=made))


def add_draft(journal, name="g01-c00", *, attempts=(), source=SOURCE, f_lf=None, f_hf=None, **_):
    """Write down what became of a sample up to its settling."""
    request = SampleRequest(id=name, generation=int(name[1:3]), operator="m1", seed=1)
    add_calls(journal, name, attempts)
    answer = journal.add(Answered(request=request, draft=draft(name, source=source)))
    if source is not None:
        low = LowScore(f_lf=f_lf, sha="abc", seconds=0.5)
        journal.add(answer.model_copy(update={"low": low}))
    if f_hf is not None:
        add_solves(journal, name, HighScore(f_hf=f_hf, seconds=3.0))


def add_solves(journal, name, score):
    """Write down the solves with a rule."""
    solve = SolveRequest(id=name, sample=Sample(id=name, generation=int(name[1:3]), operator="m1"))
    return journal.add(Answered(request=solve, high=score))


def settled(name="g01-c00", *, source=SOURCE, attempts=(), **known):
    known = {"sha": "abc" if source else None, "parents": ("g00-c01",)} | known
    return Sample(id=name, generation=int(name[1:3]), operator="m1", source=source, **known)


def add_sample(journal, name="g01-c00", **known):
    """Write down a sample, all of it."""
    add_draft(journal, name, **known)
    sample = settled(name, **known)
    journal.settle([sample])
    return sample


def add_reflection(journal, name="g01-r00", text="Depth matters."):
    request = ReflectionRequest(id=name, generation=int(name[1:3]), operator="short_term_reflection", seed=1)
    add_calls(journal, name, [attempt(answer=text, prompt_tokens=3)], request.operator)
    journal.add(Answered(request=request, draft=draft(name, source=None, text=text)))


def add_generation(journal, step, samples=None, best=-2.0, **known):
    """Write down that a generation is complete."""
    total = step if samples is None else samples
    counts = {"samples": 1, "failures": 0, "solved": 1, "samples_total": total, "failures_total": 0}
    summary = GenerationSummary(generation=step, best_f_hf=best, **counts)
    spent = Account(journal.store, journal.key).spending()
    journal.add(
        Completed(summary=summary, spending=spent, mean_f_hf=best, solved=1, solve_cpu_s=3.0 * step, **known)
    )


def add_end(journal, ended_by=None, best=BEST):
    cost = SearchCost(search="bife", samples=1, generation_s=2.0, wall_s=5.0)
    journal.add(Ended(best=best, cost=cost, ended_by=ended_by))


def write_files(folder, samples):
    """Write what a search leaves for its reader."""
    reports.write_samples(folder, samples)
    (folder / reports.BEST_RULE).write_text(SOURCE, encoding="utf-8")
    (folder / reports.COST).write_text(json.dumps({"search": "bife"}), encoding="utf-8")


NO_CODE = {"source": None, "failure": "The answer holds no code."}
FATES = ({"f_lf": 0.5, "f_hf": -2.0}, {"failure": "Line 2: names must be defined."}, NO_CODE)


def add_search(journal, generations):
    """Write down a search of some generations with failures, calls, a reflection each, and files for its reader."""
    samples = []
    for step in range(generations):
        for position, fate in enumerate(FATES):
            samples.append(add_sample(journal, f"g{step:02d}-c{position:02d}", attempts=TRIED_TWICE, **fate))
        add_reflection(journal, f"g{step:02d}-r00")
        write_files(journal.folder, samples)
        add_generation(journal, step, samples=len(samples))
    return samples
