"""What changes a champion: the challenger, if it passes the gate, or a rollback; a person is asked where set so."""

from __future__ import annotations

import os
from functools import partial
from typing import Annotated, Any, Literal

from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import FlowRun, State, StateType
from prefect.exceptions import FlowPauseTimeout, Pause
from prefect.flow_runs import pause_flow_run, suspend_flow_run
from prefect.input import RunInput
from prefect.states import Cancelled
from pydantic import Field

from bife_core.base.errors import ConfigError
from bife_core.registry.base import GATE, Case, ChampionChange
from bife_core.registry.evidence import UNGATED, RegisteredRule
from bife_core.run.stages.conclusions import link
from bife_core.run.stages.tracker import Tracker
from bife_flows.reporting.artifacts import runs_of, showing
from bife_flows.reporting.conduct import described, stage
from bife_flows.reporting.conductor import flow_runtime, present_run, with_message
from bife_tasks.stores import observer

_POLL_S = 3

Text = Annotated[str, Field(min_length=1, max_length=500)]
RuleName = Annotated[str, described("Registered model, such as bife-combinatorial_auction.", min_length=1)]
Hours = Annotated[float, described("Hours to wait for a person; then all stays as it is.", gt=0, le=8760)]


_ANSWER = "This run waits for an answer: open the menu at the top right of its page, then Resume."
_KEPT = "Kept in the registry beside the rule."


class Approval(RunInput):
    """What a person is asked on Prefect's page; the form's head shows what about, with the evidence."""

    decision: Literal["approve", "reject"] = Field(
        description="Approve what is proposed above; reject to leave the champion as it is."
    )
    reason: Text = Field(description=_KEPT)
    who: Text = Field(description="Your name, kept beside the reason.")


@stage("promotion", "{name}")
def promotion(
    name: RuleName,
    approval: Annotated[
        Literal["person", "gate"],
        described("Who decides: a person on this page, or the statistical gate alone."),
    ] = "person",
    wait_hours: Hours = 168.0,
) -> ChampionChange:
    """Compare a registered model's challenger with RPB and the champion, and promote it if it earns that.

    A challenger that does not pass the gate stays what it is; no person is asked. The process of a deployment's run
    ends while the run waits for an answer, and a new one continues it.
    """
    if approval == "person":
        _require_pages("promote with approval='gate'")
    runtime = flow_runtime()
    registry = runtime.registry
    runtime.observer.stage("promotion", f"the challenger of {name}")
    opened = partial(registry.open_case, name)
    case = runtime.conductor.step("assess the challenger", f"assess the challenger of {name}", opened)
    runtime.conductor.conclude(name, "promotion", summary(case, runtime.tracker))
    version, by, reason = case.challenger.version, GATE, case.decision.sentence
    decision = "approve" if case.decision.promote else None
    if decision and approval == "person":
        # An answer is about one version: should another be challenger by then, it is asked about anew.
        decision, by, reason = _ask(summary(case, runtime.tracker), f"approval-{version}", wait_hours)
    what = "stays challenger"
    if decision == "approve":
        promoted = partial(registry.promote, name, version, by, reason)
        runtime.conductor.step("set the champion", f"make version {version} of {name} champion", promoted)
        what = f"is champion, approved by {by}"
    elif decision == "reject":
        refused = partial(registry.refuse, name, version, by, reason)
        runtime.conductor.step("refuse the challenger", f"refuse version {version} of {name}", refused)
        what = f"was refused by {by}"
    change = ChampionChange(name=name, version=version, champion=decision == "approve", by=by, reason=reason)
    outcome = f"Version {version} {what}: {reason}"
    if decision:
        _end_others(name, outcome)
    return with_message(change, outcome)


@stage("rollback", "{name}")
def rollback(
    name: RuleName,
    reason: Annotated[str, described(_KEPT, min_length=1, max_length=500)],
    who: Annotated[
        str, described("Your name; without one a person is asked on this page.", max_length=500)
    ] = "",
    version: Annotated[int, described("Version that must be champion; 0: whichever is.", ge=0)] = 0,
    wait_hours: Hours = 168.0,
) -> ChampionChange:
    """Take the champion of a registered model out of use: the one that it replaced, if any, is champion again."""
    runtime = flow_runtime()
    if not who:
        _require_pages("give `who`")
        champion = runtime.registry.present_champion_of(name, version or None)
        version = champion.version
        page, after = _page(champion, runtime.tracker), "there is none"
        if champion.replaced:
            after = f"version {champion.replaced} is champion again"
        about = f"Version {version} of **{name}** is no longer to be champion, then {after}. {reason} {page}"
        runtime.observer.stage("rollback", f"version {version} of {name}")
        decision, who, reason = _ask(about, f"rollback-{version}", wait_hours)
        if decision == "reject":
            kept_on = partial(runtime.registry.keep, name, version, who, reason)
            runtime.conductor.step("keep the champion", f"keep version {version} of {name}", kept_on)
        if decision != "approve":
            kept = ChampionChange(name=name, version=version, champion=True, by=who, reason=reason)
            return with_message(kept, f"Version {version} stays champion, by {who}: {reason}")
    rolled_back = partial(runtime.registry.roll_back, name, who, reason, version or None)
    change = runtime.conductor.step("roll back the champion", f"roll {name} back", rolled_back)
    return with_message(change, f"{change.sentence}, by {who}: {reason}")


def summary(case: Case, tracker: Tracker) -> str:
    """Return what a person decides on, in Markdown."""
    rule, gate = case.challenger, "passes" if case.decision.promote else "does not pass"
    champion, now = case.champion, ""
    if champion is not None:
        now = f" Version {champion.version} is champion now{UNGATED * champion.ungated}."
    before = f"\n\nThe same rule was a challenger before: {case.refused}." if case.refused else ""
    return (
        f"Version {rule.version} of **{rule.name}** {gate} the statistical gate. {case.decision.sentence}{now} "
        f"{_page(rule, tracker)}{before}\n\n{rule.card}"
    )


def _page(rule: RegisteredRule, tracker: Tracker) -> str:
    return link("Source, evidence and history", tracker.page_of(rule))


def _require_pages(otherwise: str) -> None:
    if not os.environ.get("PREFECT_API_URL"):
        raise ConfigError(
            "A person's answer is given on Prefect's page, and no Prefect server is known; start one with "
            f"`bife up`, set PREFECT_API_URL, or {otherwise}."
        )


def _end_others(name: str, outcome: str) -> None:
    """End the other runs that wait for an answer on a challenger of a name: it was given here."""
    present = present_run()
    with showing(), get_client(sync_client=True) as client:
        for run in runs_of(client, ["promotion"], [StateType.PAUSED]):
            same = run.parameters.get("name") == name and run.deployment_id is not None
            if same and present is not None and run.id != present.id:
                _set_state(run, Cancelled(message=f"Answered in another run. {outcome}"))


def _set_state(run: FlowRun, state: State[Any]) -> None:
    with get_client(sync_client=True) as client:
        client.set_flow_run_state(run.id, state, force=True)


def _ask(about: str, key: str, wait_hours: float) -> tuple[str | None, str, str]:
    """Return what a person decides on what is shown in Markdown, who, and why; no decision if none comes in time."""
    form, limit_s, run = Approval.with_initial_data(description=about), int(wait_hours * 3600), present_run()
    if run is None or run.run_count <= 1:  # once there is an answer the run starts anew
        observer().note(_ANSWER)
    try:
        if run is not None and run.deployment_id is not None:
            # No process waits; the worker starts the run anew once there is an answer.
            try:
                answer = suspend_flow_run(wait_for_input=form, timeout=limit_s, key=key)
            except Pause as suspended:
                if suspended.state is not None:  # Prefect's own says nothing
                    _set_state(run, suspended.state.model_copy(update={"message": _ANSWER}))
                raise
        else:
            answer = pause_flow_run(wait_for_input=form, timeout=limit_s, poll_interval=_POLL_S, key=key)
    except FlowPauseTimeout:
        return None, "timeout", f"No person answered within {wait_hours:g} hours."
    answered = Approval.model_validate(answer.model_dump())
    return answered.decision, answered.who, answered.reason
