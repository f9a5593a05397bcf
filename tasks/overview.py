"""What a person who operates a home looks at: champions, searches, money, what waits, and what the disk holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from bife_core.errors import BifeError
from bife_core.store import StoredEvent
from bife_core.values import Value
from bife_core.wording import counted
from tasks.home import project_home, registry_is_empty
from tasks.registry.evidence import RegisteredRule
from tasks.stores import home_store, lacking, mlflow_run

DAYS: Final = 14
"""Days, with today, whose calls to a model API are shown."""


class LastSearch(Value):
    """The last search for a rule: when it began, what came of it, the share used of each limit of its budget."""

    began: datetime
    outcome: str
    budget_used: dict[str, float] = {}  # noqa: RUF012 - pydantic copies it
    url: str = ""


class Family(Value):
    """Instances of one kind: the champion for them under some settings of SCIP, if any, and the last search."""

    label: str
    champion: RegisteredRule | None = None
    since: datetime | None = None
    page: str = ""
    search: LastSearch | None = None


class Day(Value):
    """Calls to a model API that went out on one day (UTC); `cost_usd` is None where no price was known."""

    day: str
    calls: int = 0
    tokens: int = 0
    cost_usd: Decimal | None = None


class Waiting(Value):
    """A run that waits for a person's answer."""

    name: str
    since: datetime
    url: str


class Overview(Value):
    """The state of a home at one time.

    `waiting` is None where no Prefect server was asked. `lacking` has the names of the records that did not reach
    MLflow yet and how many events of each are left; `trouble` is why the registry could not be read.
    """

    made: datetime
    home: str
    families: tuple[Family, ...]
    days: tuple[Day, ...]
    waiting: tuple[Waiting, ...] | None
    lacking: tuple[tuple[str, int], ...]
    disk_mb: dict[str, float]
    free_mb: float
    trouble: str = ""


def gather(waiting: Callable[[], Iterable[Waiting]] | None = None) -> Overview:
    """Return what there is to see in the home now; `waiting` asks a Prefect server what waits for a person."""
    home, now, trouble, rules = project_home(), datetime.now(UTC), "", list[RegisteredRule]()
    if not registry_is_empty():  # else MLflow need not be loaded
        from tasks.registry.reading import CHAMPION, list_rules

        try:
            rules = [rule for rule in list_rules() if CHAMPION in rule.aliases]
        except BifeError as error:
            trouble = str(error)
    searches = _last_searches()
    families = [_family(rule, searches) for rule in rules]
    served = {family.label for family in families}
    families += [Family(label=label, search=last) for label, last in searches.items() if label not in served]
    return Overview(
        made=now,
        home=str(home.root),
        families=tuple(sorted(families, key=lambda one: (one.label, one.page))),
        days=_days(now),
        waiting=None if waiting is None else tuple(waiting()),
        lacking=tuple((row.name or row.key, left) for row, left in lacking()),
        disk_mb=home.sizes_mb(),
        free_mb=home.free_mb,
        trouble=trouble,
    )


def _family(rule: RegisteredRule, searches: dict[str, LastSearch]) -> Family:
    from tasks.tracking.store import page

    label, at = rule.tags.get("benchmark", rule.name), rule.tags.get("approved_at", "")
    return Family(
        label=label,
        champion=rule,
        since=datetime.fromisoformat(at) if at else None,
        page=page(f"models/{rule.name}/versions/{rule.version}"),
        search=searches.get(label),
    )


def _last_searches() -> dict[str, LastSearch]:
    """Return the search of each benchmark that began last."""
    store = home_store()
    opened = sorted(store.events(None, kinds=["opened"]), key=lambda event: event.at_unix_s)
    last = {event.body.get("tags", {}).get("benchmark", event.study): event for event in opened}
    kinds = ["started", "completed", "ended", "stopped"]
    return {label: _search(event, [*store.events(event.study, kinds=kinds)]) for label, event in last.items()}


def _search(opened: StoredEvent, events: list[StoredEvent]) -> LastSearch:
    latest = {event.kind: event.body for event in events}
    url = ""
    if run := mlflow_run(opened.study):
        from tasks.tracking.store import EVOLUTION, run_url

        with suppress(BifeError):
            url = run_url(run, EVOLUTION)
    return LastSearch(
        began=datetime.fromtimestamp(opened.at_unix_s, UTC),
        outcome=_outcome(events[-1].kind if events else "", latest),
        budget_used=latest.get("completed", {}).get("budget_used", {}),
        url=url,
    )


def _outcome(kind: str, latest: dict[str, dict[str, Any]]) -> str:
    if kind == "stopped":
        return f"stopped: {latest[kind]['reason']}"
    if kind == "ended":
        best, why = latest[kind]["best"], latest[kind].get("ended_by")
        scores = [(name, best[key]) for key, name in (("f_hf", "F_HF"), ("f_lf", "F_LF"))] if best else []
        score = next((f", {name} {value:.4g}" for name, value in scores if value is not None), "")
        return f"{best['id'] if best else 'no rule'}{score}" + (f"; {why}" if why else "")
    sampled = latest.get("completed", {}).get("summary", {}).get("samples_total", 0)
    return f"under way, {counted(sampled, 'rule')} sampled"


def _days(now: datetime) -> tuple[Day, ...]:
    """Return the days on which calls went out, newest first."""
    earliest = (now - timedelta(days=DAYS - 1)).replace(hour=0, minute=0, second=0, microsecond=0)
    fields = ["started_unix_s", "prompt_tokens", "completion_tokens", "cost_usd"]
    days: dict[str, Day] = {}
    for began, asked, answered, cost in home_store().call_facts(fields, earliest.timestamp()):
        at = datetime.fromtimestamp(float(began or 0), UTC)
        if at >= earliest:
            day = days.get(name := f"{at:%Y-%m-%d}", Day(day=name))
            tokens = day.tokens + int(asked or 0) + int(answered or 0)
            spent = day.cost_usd if cost is None else (day.cost_usd or 0) + Decimal(cost)
            days[name] = Day(day=name, calls=day.calls + 1, tokens=tokens, cost_usd=spent)
    return tuple(days[name] for name in sorted(days, reverse=True))
