"""What a person who operates a home looks at: champions, searches, runs, money, what waits, and what the disk holds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from bife_core.base.errors import BifeError
from bife_core.base.wording import as_markdown, counted, interval_text
from bife_core.registry.evidence import CHALLENGER, CHAMPION, UNGATED, RegisteredRule
from bife_core.run.stages.records import SEARCH
from bife_core.store.home import project_home
from bife_tasks import mlflow_tracks
from bife_tasks.home import pages_address
from bife_tasks.registry import registry
from bife_tasks.stores import home_store, lacking, mlflow_run, tracker


class Link(NamedTuple):
    """A text that opens a page, where it has an address."""

    text: str
    url: str


Cell = str | Link
Row = tuple[Cell, ...]


class Section(NamedTuple):
    """A part of the page: a sentence, a table, or both."""

    title: str
    sentence: str
    columns: tuple[str, ...]
    rows: Sequence[Row]


class Server(NamedTuple):
    """What a Prefect server has: runs that wait for a person, and how long; the last pipelines, and how they ended."""

    waiting: Sequence[Row]
    pipelines: Sequence[Row]


def sections(ask: Callable[[], Server] | None = None) -> list[Section]:
    """Return what there is to see in the home now; `ask` asks a Prefect server for what it has."""
    home, now = project_home(), datetime.now(UTC)
    server = Server((), ()) if ask is None else ask()
    unasked = "No Prefect server was asked." if ask is None else "Nothing."
    sizes = home.sizes_mb()
    disk = [(name, f"{size:,.0f}") for name, size in sizes.items() if size >= 1]
    free = home.lack_of_room or f"{home.free_mb:,.0f} MB are free."
    used = f"{sum(sizes.values()):,.0f} MB in {home.root}; {free}"
    rules, trouble = list[RegisteredRule](), ""
    try:
        rules = registry().versions()
    except BifeError as error:
        trouble = str(error)
    champions = [rule for rule in rules if CHAMPION in rule.aliases]
    waiting = [_registered(rule) for rule in rules if CHALLENGER in rule.aliases and rule not in champions]
    return [
        _families(champions, trouble, now),
        Section("Challengers", "" if waiting else "None.", ("version", "ratio to RPB", "SCIP"), waiting),
        Section("Waiting for a person", "" if server.waiting else unasked, ("run", "for"), server.waiting),
        Section(
            "Pipelines", "" if server.pipelines else unasked, ("run", "state", "outcome"), server.pipelines
        ),
        _calls(now),
        _untracked(),
        Section("Disk", used, ("part", "MB"), disk),
    ]


def _untracked() -> Section:
    if not mlflow_tracks():
        kept = f"Runs are kept by {tracker().name}, by BIFE_TRACKER; what it lacks is not shown here."
        return Section("Tracker", kept, (), ())
    left = [(row.name or row.key, f"{count:,}") for row, count in lacking()]
    return Section("Not in MLflow yet", "" if left else "Nothing.", ("record", "events left"), left)


def _families(champions: Sequence[RegisteredRule], trouble: str, now: datetime) -> Section:
    """Return the champions for each kind of instances and settings of SCIP, and the last search for a rule."""
    searches = _last_searches(now)
    labels = [rule.tags.get("benchmark", rule.name) for rule in champions]
    rows = list[Row]()
    for label, rule in zip(labels, champions, strict=True):
        approved = rule.tags.get("approved_at")
        age = age_text(now - datetime.fromisoformat(approved)) if approved else "-"
        rows.append((label, *_registered(rule), age, *searches.get(label, ("none", "-", "-"))))
    rows += [(label, "none", "-", "-", "-", *last) for label, last in searches.items() if label not in labels]
    rows.sort(key=lambda row: (row[0], str(row[1])))
    columns = ("family", "champion", "ratio to RPB", "SCIP", "age", "last search", "found", "budget used")
    return Section("Families", trouble or ("" if rows else "No search yet."), columns, rows)


def _registered(rule: RegisteredRule) -> Row:
    """Return a version with its page, its ratio to RPB, and the settings of SCIP it was measured under."""
    ratio, evidence = "-", rule.evidence
    if evidence is not None:
        interval = interval_text(evidence.ci_low, evidence.ci_high).removeprefix("interval ")
        ratio = f"{evidence.ratio:.3f} ({interval})"
    page = tracker().page_of(rule) if _served() else ""
    return Link(f"{rule.name} {rule.version}{UNGATED * rule.ungated}", page), ratio, rule.solver


def _last_searches(now: datetime) -> dict[str, Row]:
    """Return of each benchmark's last search when it began, what came of it, and the share used of each limit."""
    opened = sorted(home_store().events(None, kinds=["opened"]), key=lambda event: event.at_unix_s)
    last = {event.body.get("tags", {}).get("benchmark", event.study): event for event in opened}
    age = {label: now - datetime.fromtimestamp(event.at_unix_s, UTC) for label, event in last.items()}
    return {label: _search(event.study, age[label]) for label, event in last.items()}


def _search(study: str, age: timedelta) -> Row:
    kind, body, completed, url = "", dict[str, Any](), dict[str, Any](), ""
    for event in home_store().events(study, kinds=["started", "completed", "ended", "stopped"]):
        kind, body = event.kind, event.body
        completed = body if kind == "completed" else completed
    if _served() and (run := mlflow_run(study)):
        from bife_tasks.tracking.mlflow_runs import run_url

        with suppress(BifeError):
            url = run_url(run, SEARCH)
    if kind == "stopped":
        outcome = f"stopped: {body['reason']}"
    elif kind == "ended":
        outcome = "no rule" if body["best"] is None else _with_score(body["best"])
        outcome += f"; {body['ended_by']}" if body.get("ended_by") else ""
    else:
        from bife_core.run.study.journal import claim_on  # which takes longer than all else here

        goes_on = home_store().claims.held(claim_on(study))
        sampled = completed["summary"]["samples_total"] if completed else 0
        outcome = f"{'under way' if goes_on else 'interrupted'}, {counted(sampled, 'rule')} sampled"
    used = ", ".join(
        f"{name} {100 * share:.0f} %" for name, share in completed.get("budget_used", {}).items()
    )
    return Link(f"{age_text(age)} ago", url), outcome, used or "no limit"


def _served() -> bool:
    """Whether a server shows the tracker's pages; to ask the tracker for their addresses takes seconds otherwise."""
    return not mlflow_tracks() or bool(pages_address())


def _with_score(rule: Mapping[str, Any]) -> str:
    name, value = ("F_HF", rule["f_hf"]) if rule["f_hf"] is not None else ("F_LF", rule["f_lf"])
    return str(rule["id"]) if value is None else f"{rule['id']}, {name} {value:.4g}"


def _calls(now: datetime) -> Section:
    """Return which of the last 14 days (UTC) calls to a model API went out on, newest first."""
    earliest = (now - timedelta(days=13)).replace(hour=0, minute=0, second=0, microsecond=0)
    days = defaultdict[str, list[tuple[int, Decimal | None]]](list)
    for call in home_store().recent_calls(earliest.timestamp()):
        at = datetime.fromtimestamp(call.get("started_unix_s") or 0, UTC)
        if at >= earliest:
            cost = call.get("cost_usd")
            used = (call.get("prompt_tokens") or 0) + (call.get("completion_tokens") or 0)
            days[f"{at:%Y-%m-%d}"].append((used, None if cost is None else Decimal(cost)))
    rows = []
    for day, calls in sorted(days.items(), reverse=True):
        prices = [price for _, price in calls if price is not None]
        tokens = sum(tokens for tokens, _ in calls)
        rows.append((day, f"{len(calls):,}", f"{tokens:,}", f"{sum(prices):.4f}" if prices else "unknown"))
    return Section("Model API", "" if rows else "No call lately.", ("day", "calls", "tokens", "USD"), rows)


def age_text(age: timedelta) -> str:
    """Return a time in its largest unit."""
    for unit, seconds in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if (count := int(age.total_seconds()) // seconds) >= 1:
            return counted(count, unit)
    return "less than a minute"


def markdown(page: Sequence[Section]) -> str:
    """Return the sections, as of now, in Markdown."""
    parts = [f"Of {datetime.now(UTC):%Y-%m-%d %H:%M} UTC"]
    for section in page:
        parts.append(f"## {section.title}")
        if section.sentence:
            parts.append(section.sentence)
        if section.rows:
            rows = [section.columns, ["---"] * len(section.columns), *section.rows]
            parts.append("\n".join(f"| {' | '.join(map(_marked, row))} |" for row in rows))
    return "\n\n".join(parts)


def _marked(cell: Cell) -> str:
    text, url = cell if isinstance(cell, Link) else (cell, "")
    text = as_markdown(text)
    return f"[{text}]({url})" if url.startswith("http") else text
