"""What a search leaves open is settled when its run begins: a seed from the scheduled time, the present champion."""

from __future__ import annotations

from datetime import UTC, datetime

from bife_core.config import PipelineConfig
from bife_core.errors import BifeError
from bife_core.files import write_whole
from bife_core.methods.loading import method_of, stored_text
from bife_core.methods.rule import RuleMethod
from flows.reporting.events import present_run
from flows.reporting.observer import observer
from tasks.home import project_home
from tasks.registry import CHAMPION, by_alias, registered_name


def settled(config: PipelineConfig) -> PipelineConfig:
    """Return a configuration that names one search: the same for every try of a run, another for the next run.

    Without a seed, one is drawn from the time the run was scheduled for, so each run of a schedule searches anew.
    "champion" among `search.first_rules` is replaced by the registered one, as the first try of the run found it.
    """
    search = config.search
    changed: dict[str, object] = {}
    if search.seed is None:
        changed["seed"] = seed_at(_scheduled())
    if CHAMPION in search.first_rules:
        rules = (_champion_of_run(config) if rule == CHAMPION else rule for rule in search.first_rules)
        changed["first_rules"] = tuple(dict.fromkeys(filter(None, rules)))
    if not changed:
        return config
    settled_search = type(search).model_validate(search.model_dump() | changed)
    return config.model_copy(update={"search": settled_search})


def seed_at(when: datetime) -> int:
    """Return the seed of a search that is scheduled for a time: its digits in UTC, to the second.

    Examples
    --------
    >>> seed_at(datetime(2026, 11, 22, 2, 0, tzinfo=UTC))
    20261122020000
    """
    return int(f"{when.astimezone(UTC):%Y%m%d%H%M%S}")


def _scheduled() -> datetime:
    """Return when the present run was to begin; another try of it does not change that."""
    run = present_run()
    known = run.expected_start_time if run is not None else None
    return known or datetime.now(UTC)


def _champion_of_run(config: PipelineConfig) -> str | None:
    """Return the champion that the first try of the present run began with; later tries go on with that search."""
    run = present_run()
    if run is None:
        return _champion(config)
    kept = project_home().champions / f"{run.id}.py"
    if kept.is_file():
        return kept.read_text(encoding="utf-8")
    champion = _champion(config)
    if champion is not None:
        write_whole(kept, champion)
    return champion


def _champion(config: PipelineConfig) -> str | None:
    """Return the text of the champion of a benchmark, or nothing where there is none; None if nobody can say."""
    try:
        champion = by_alias(registered_name(config.instances), CHAMPION)
        text = "" if champion is None else stored_text(champion.reference)
    except BifeError as error:
        observer().note(f"The search does not begin with the champion. {error}")
        return None
    if text and not isinstance(method_of(text), RuleMethod):
        observer().note("The search does not begin with the champion, which is no rule.")
        return ""
    return text
