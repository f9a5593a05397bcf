"""Outcomes in Markdown: what was found, how good it is, and where to look in MLflow."""

from __future__ import annotations

from bife_core.evaluation.metrics import METRICS
from bife_core.evaluation.verdict import known_as
from bife_core.evolution.files import abstract
from flows.results import EvaluationResult, EvolutionResult, PipelineResult

_OFFLINE = "MLflow has no server of its own here: `bife ui` opens its pages, and these follow its address:"


def link(text: str, url: str) -> str:
    """Return a link; an address that lacks its server is shown as text, for a link to it would lead nowhere."""
    return f"[{text}]({url})" if url.startswith(("http://", "https://")) else f"{text}: `{url}`"


def links(table: str, charts: str, run: str) -> str:
    """Return where an evolution's rules are in MLflow, on one line."""
    found = " · ".join(
        (
            link("all rules, best first", table),
            link("which operator and generation led to good rules", charts),
            link("the run with its curves", run),
        )
    )
    return found if table.startswith("http") else f"{_OFFLINE} {found}"


def evolution_verdict(result: EvolutionResult) -> str:
    """Return the outcome of a search."""
    where = links(result.ranking_url, result.charts_url, result.run.url)
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
    summary = result.summary
    lead = summary.leading[0]
    faster, slower = (
        ("faster than", "slower than") if lead.metric == "time" else ("better than", "worse than")
    )
    word = {"better": faster, "worse": slower, "undecided": "not significantly different from"}[lead.finding]
    name = "The rule" if summary.rule == "best_rule" else summary.rule
    what = METRICS[lead.metric].words
    return f"{name} is {word} {known_as(summary.baseline)}: {ratio(result)} of its {what}"


def ratio(result: EvaluationResult) -> str:
    """Return the ratio with its interval."""
    summary = result.summary
    if summary.ci_low is None or summary.ci_high is None:
        return f"{summary.ratio:.3f} (no interval)"
    level = f"{summary.confidence:.0%} interval {summary.ci_low:.3f} to {summary.ci_high:.3f}"
    return f"{summary.ratio:.3f} ({level})"


def measured(result: EvaluationResult) -> list[tuple[str, str]]:
    """Return the outcome of a comparison with all that qualifies it, labelled."""
    summary, metric = result.summary, METRICS[result.summary.protocol.metric]
    kind, better, worse = ("time", "faster", "slower")
    if metric.name != "time":
        kind, better, worse = metric.words, "better", "worse"
    change = f"{abs(1.0 - summary.ratio):.0%} {'less' if summary.ratio < 1 else 'more'} {metric.words}"
    even = summary.instances - summary.wins - summary.losses
    won = f"{summary.wins} {better}, {summary.losses} {worse}" + (f", {even} even" if even else "")
    seeds = "1 seed" if len(summary.seeds) == 1 else f"{len(summary.seeds)} seeds"
    order = "all methods of a model in turn on the same core"
    return [
        (f"{kind} ratio", f"{ratio(result)}: the rule takes {change}"),
        ("node ratio", f"{summary.node_ratio:.3f}"),
        ("models", won),
        ("solves", f"{len(summary.rows)}, {seeds} a model, {order}"),
        *([("verdict", summary.verdict)] if summary.comparisons else ()),
    ]


def pipeline_verdict(result: PipelineResult) -> str:
    """Return the outcome of a whole run."""
    if result.evaluation is None or result.registered is None:
        return evolution_verdict(result.evolution)
    registered = result.registered
    held = " and ".join(registered.aliases) or "no alias"
    head = f"# {comparison(result.evaluation)}\n\nRegistered as `{registered.reference}`, {held}.\n\n"
    evolved = result.evolution
    where = links(evolved.ranking_url, evolved.charts_url, evolved.run.url)
    final = f"\n\n{abstract(result.rule)}" if result.rule is not None else ""
    compared = link("the comparison in MLflow", result.evaluation.run.url)
    return f"{head}{_table(result.evaluation)}\n\n{where} · {compared}{final}\n{_notes(result.notes)}"


def _table(result: EvaluationResult) -> str:
    return "| | |\n|---|---|\n" + "\n".join(f"| {name} | {value} |" for name, value in measured(result))


def _notes(notes: tuple[str, ...]) -> str:
    return "".join(f"\n- {note}" for note in notes)
