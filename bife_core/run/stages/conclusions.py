"""Conclusions of stages in Markdown, with links to what the tracker has."""

from __future__ import annotations

from bife_core.base.wording import as_markdown, counted, fenced, interval_text
from bife_core.measure.evaluation.comparison import change_text, known_as
from bife_core.measure.evaluation.metrics import METRICS
from bife_core.run.observer import TrackedRun
from bife_core.run.stages.results import EvaluationResult, PipelineResult
from bife_core.run.study import SearchOutcome
from bife_core.run.study.files import abstract
from bife_core.solver.methods.configuration import Configuration


def link(text: str, url: str) -> str:
    """Return a link; an address without a server is shown as text."""
    return f"[{text}]({url})" if url.startswith(("http://", "https://")) else f"{text}: `{url}`"


def links(run: TrackedRun) -> str:
    """Return where the tracker shows a search's rules, on one line; nothing where only the store has it."""
    if not run.tracker:
        return ""
    pages = f"{link('all rules, best first', run.ranking)} · {link('the run with its curves', run.url)}"
    return (
        pages if run.url.startswith("http") else f"On {run.tracker}'s pages, which `bife up` serves: {pages}"
    )


def comparison_link(run: TrackedRun) -> str:
    """Return where the tracker shows a comparison; nothing where only the store has it."""
    return link(f"the comparison in {run.tracker}", run.url) if run.tracker else ""


def search_conclusion(result: SearchOutcome) -> str:
    """Return the conclusion of a search."""
    head = "No rule was of use" if result.best is None else f"{result.best.id} is the best rule"
    counts = f"{len(result.samples)} rules sampled, {result.failures} of them failed, {result.seconds:.0f} s"
    return _page(head, counts, links(result.run), abstract(result.best), notes=result.notes)


def evaluation_conclusion(result: EvaluationResult) -> str:
    """Return the conclusion of a comparison."""
    return _page(
        as_markdown(result.sentence), _table(result), comparison_link(result.run), notes=result.notes
    )


def pipeline_conclusion(result: PipelineResult) -> str:
    """Return the conclusion of a whole run: how good what it chose is, what to use, then the evidence."""
    evaluated, registered, standing = result.evaluation, result.registered, ""
    if evaluated is None:
        return search_conclusion(result.search)
    if registered is not None:
        reference, aliases = registered.reference, " and ".join(registered.aliases) or "no alias"
        standing = f"Registered as `{reference}`, {aliases}."
        if evaluated.summary.judged.finding == "better":
            standing += f" To use it: `bife solve MODEL.mps --rule {reference}`."
    method = evaluated.method
    settings = fenced(method.chosen, "") if isinstance(method, Configuration) and method.changes else ""
    return _page(
        as_markdown(evaluated.sentence),
        " ".join(filter(None, (standing, *map(as_markdown, (result.no_champion, result.advice))))),
        _table(evaluated),
        " · ".join(filter(None, (links(result.search.run), comparison_link(evaluated.run)))),
        as_markdown(result.choice.sentence) if result.choice else "",
        settings,
        abstract(result.final),
        notes=result.notes,
    )


def measured(result: EvaluationResult) -> list[tuple[str, str]]:
    """Return the outcome of a comparison with all that qualifies it, labelled."""
    summary, lead = result.summary, result.summary.lead
    kind, better, worse = "time", "faster", "slower"
    if lead.metric != "time":
        kind, better, worse = METRICS[lead.metric].words, "better", "worse"
    interval = interval_text(lead.ci_low, lead.ci_high, confidence=lead.confidence)
    change = "" if lead.finding == "undecided" else f": {known_as(lead.method)} takes {change_text(lead)}"
    won = f"{lead.wins} {better}, {lead.losses} {worse}" + (f", {lead.ties} even" if lead.ties else "")
    seeds = counted(len(summary.protocol.seeds), "seed")
    apart = "all methods interleaved on the same core"
    missing = f"; {len(summary.failures)} of them missing and charged" if summary.failures else ""
    return [
        (f"{kind} ratio", lead.incomparable or f"{lead.ratio:.3f} ({interval}){change}"),
        ("node ratio", f"{lead.node_ratio:.3f}"),
        (f"{lead.unit}s", won),
        ("solves", f"{len(summary.rows)}, {seeds} an instance, {apart}{missing}"),
        ("conclusion", summary.conclusion),
    ]


def _table(result: EvaluationResult) -> str:
    """Return the outcome of a comparison in a table, without the sentence that heads its page."""
    facts = [(name, value.removeprefix(result.sentence).strip()) for name, value in measured(result)]
    return "| | |\n|---|---|\n" + "\n".join(
        f"| {name} | {as_markdown(value)} |" for name, value in facts if value
    )


def _page(head: str, *parts: str, notes: tuple[str, ...]) -> str:
    listed = "\n".join(f"- {as_markdown(note)}" for note in notes)
    return "\n\n".join(filter(None, (f"# {head}", *parts, listed)))
