"""Outcomes in Markdown: what was found, how good it is, and where to look in MLflow."""

from __future__ import annotations

from bife_core.evaluation.comparing import change_text, known_as
from bife_core.evaluation.metrics import METRICS
from bife_core.study.files import abstract
from bife_core.wording import counted, interval_text
from flows.results import EvaluationResult, EvolutionResult, PipelineResult

_OFFLINE = "MLflow has no server of its own here: `bife up` serves its pages, and these follow its address:"


def link(text: str, url: str) -> str:
    """Return a link; an address that lacks its server is shown as text, for a link to it would lead nowhere."""
    return f"[{text}]({url})" if url.startswith(("http://", "https://")) else f"{text}: `{url}`"


def links(table: str, run: str) -> str:
    """Return where an evolution's rules are in MLflow, on one line."""
    found = f"{link('all rules, best first', table)} · {link('the run with its curves', run)}"
    return found if table.startswith("http") else f"{_OFFLINE} {found}"


def evolution_verdict(result: EvolutionResult) -> str:
    """Return the outcome of a search."""
    where = links(result.ranking_url, result.run.url)
    counts = f"{len(result.samples)} rules sampled, {result.failures} of them out, {result.seconds:.0f} s"
    tail = _notes(result.notes)
    if result.best is None:
        return f"# No rule\n\nNo sampled rule was of use ({counts}).\n\n{where}\n{tail}"
    return f"# {result.best.id} is the best rule\n\n{counts}\n\n{where}\n\n{abstract(result.best)}\n{tail}"


def evaluation_verdict(result: EvaluationResult) -> str:
    """Return the outcome of a comparison."""
    page = link("the comparison in MLflow", result.run.url)
    return f"# {comparison(result)}\n\n{_table(result)}\n\n{page}\n{_notes(result.notes)}"


def comparison(result: EvaluationResult) -> str:
    """Return in one line whether the rule is faster, by what the report calls significant."""
    summary, lead = result.summary, result.summary.lead
    faster, slower = (
        ("faster than", "slower than") if lead.metric == "time" else ("better than", "worse than")
    )
    word = {"better": faster, "worse": slower, "undecided": "not significantly different from"}[lead.finding]
    word = f"not known to be {faster}" if lead.obstacle else word
    name = "The rule" if summary.rule == "best_rule" else summary.rule
    what = METRICS[lead.metric].words
    why = f"; {lead.obstacle}" if lead.obstacle else ""
    return f"{name} is {word} {known_as(summary.baseline)}: {ratio(result)} of its {what}{why}"


def ratio(result: EvaluationResult) -> str:
    """Return the ratio with its interval."""
    lead = result.summary.lead
    return f"{lead.ratio:.3f} ({interval_text(lead.ci_low, lead.ci_high, confidence=lead.confidence)})"


def measured(result: EvaluationResult) -> list[tuple[str, str]]:
    """Return the outcome of a comparison with all that qualifies it, labelled."""
    summary, lead = result.summary, result.summary.lead
    kind, better, worse = ("time", "faster", "slower")
    if lead.metric != "time":
        kind, better, worse = METRICS[lead.metric].words, "better", "worse"
    change = "" if lead.finding == "undecided" else f": the rule takes {change_text(lead)}"
    won = f"{lead.wins} {better}, {lead.losses} {worse}" + (f", {lead.ties} even" if lead.ties else "")
    seeds = counted(len(summary.protocol.seeds), "seed")
    order = "all methods of a model in turn on the same core"
    missing = f"; {len(summary.failures)} of them missing and charged" if summary.failures else ""
    return [
        (f"{kind} ratio", f"{ratio(result)}{change}"),
        ("node ratio", f"{lead.node_ratio:.3f}"),
        ("models", won),
        ("solves", f"{len(summary.rows)}, {seeds} a model, {order}{missing}"),
        ("verdict", summary.conclusion),
    ]


def pipeline_verdict(result: PipelineResult) -> str:
    """Return the outcome of a whole run."""
    if result.evaluation is None or result.registered is None:
        return evolution_verdict(result.evolution)
    registered = result.registered
    held = " and ".join(registered.aliases) or "no alias"
    standing = f"Registered as `{registered.reference}`, {held}. {result.no_champion}".rstrip()
    head = f"# {comparison(result.evaluation)}\n\n{standing}\n\n"
    evolved = result.evolution
    where = links(evolved.ranking_url, evolved.run.url)
    final = f"\n\n{abstract(result.rule)}" if result.rule is not None else ""
    compared = link("the comparison in MLflow", result.evaluation.run.url)
    return f"{head}{_table(result.evaluation)}\n\n{where} · {compared}{final}\n{_notes(result.notes)}"


def _table(result: EvaluationResult) -> str:
    return "| | |\n|---|---|\n" + "\n".join(f"| {name} | {value} |" for name, value in measured(result))


def _notes(notes: tuple[str, ...]) -> str:
    return "".join(f"\n- {note}" for note in notes)
