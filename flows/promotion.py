"""The last stage: the challenger becomes champion if the numbers allow it and, where asked for, a person agrees."""

from __future__ import annotations

import os
from typing import Annotated, Literal

from prefect import flow
from prefect.exceptions import FlowPauseTimeout
from prefect.flow_runs import pause_flow_run, suspend_flow_run
from prefect.input import RunInput
from pydantic import Field

from bife_core.errors import ConfigError
from flows.pending import first_to_ask
from flows.reporting.artifacts import show_verdict
from flows.reporting.events import present_run
from flows.reporting.observer import observer
from flows.safeguards.conduct import conducted
from flows.safeguards.endings import HOOKS
from flows.verdicts import link
from tasks.registry import GATE, Case, ChampionChange, open_case, promote, refuse, roll_back
from tasks.states import NOTHING_TO_DO, with_message

_POLL_S = 3

Text = Annotated[str, Field(min_length=1, max_length=500)]
RuleName = Annotated[
    str,
    Field(
        min_length=1,
        json_schema_extra={"description": "Registered model, such as bife-combinatorial_auction."},
    ),
]


class Approval(RunInput):
    """What a person is asked on Prefect's page; the form's head shows the evidence."""

    decision: Literal["approve", "reject"] = Field(
        description="Approve to make the rule champion; reject to leave the champion as it is."
    )
    reason: Text = Field(description="Kept in the registry beside the rule.")
    who: Text = Field(description="Your name, kept beside the reason.")


@flow(name="promotion", flow_run_name="promotion {name}", **HOOKS)
@conducted
def promotion(
    name: RuleName,
    approval: Literal["person", "gate"] = "person",
    wait_hours: Annotated[float, Field(gt=0, le=8760)] = 168.0,
) -> ChampionChange:
    """Weigh a registered model's challenger against RPB and the champion, and promote it if it earns that.

    Of one version one run asks; a second says where that is, and ends. One that asked about a former challenger is
    cancelled. A challenger that does not pass the gate stays what it is; nobody is asked. Where a run belongs to a
    deployment, its process ends while it waits for an answer, and a new one goes on with it.

    Parameters
    ----------
    name : str
        The registered model.
    approval : str
        'person' waits for an answer on Prefect's page, 'gate' promotes by the numbers alone.
    wait_hours : float
        After this time without an answer the challenger stays what it is.

    Raises
    ------
    PromotionError
        If there is no challenger, or it is champion already.
    ConfigError
        If a person is to be asked and there is no page to ask on.
    TrackingError
        If the registry cannot be reached.
    """
    if approval == "person" and not os.environ.get("PREFECT_API_URL"):
        raise ConfigError(
            "A person's approval is given on Prefect's page, and no Prefect server is known; start one with "
            "`bife up`, set PREFECT_API_URL, or promote with approval='gate'."
        )
    observer().stage("promotion", f"the challenger of {name}")
    case = open_case(name)
    show_verdict(name, "promotion", summary(case))
    asked = first_to_ask(name, case.version) if approval == "person" else None
    if asked is not None:
        change = ChampionChange(
            name=name,
            version=case.version,
            champion=False,
            by="nobody",
            reason=f"It is asked about at {asked}",
        )
        return with_message(change, f"Version {case.version} is asked about already: {asked}", NOTHING_TO_DO)
    if not case.decision.promote:
        return _stays(case, GATE, case.decision.reason)
    if approval == "gate":
        change = promote(name, case.version, GATE, case.decision.reason)
        return with_message(change, f"Version {case.version} is champion: {case.decision.reason}")
    try:
        answer = _ask(case, int(wait_hours * 3600))
    except FlowPauseTimeout:
        return _stays(case, "nobody", f"Nobody answered within {wait_hours:g} hours.")
    if answer.decision == "reject":
        refused = refuse(name, case.version, answer.who, answer.reason)
        return with_message(refused, f"Version {case.version} was refused by {answer.who}: {answer.reason}")
    approved = promote(name, case.version, answer.who, answer.reason)
    return with_message(
        approved, f"Version {case.version} is champion, approved by {answer.who}: {answer.reason}"
    )


@flow(name="rollback", flow_run_name="rollback {name}", **HOOKS)
@conducted
def rollback(name: RuleName, reason: Text, who: Text) -> ChampionChange:
    """Make the former champion of a registered model champion again.

    Parameters
    ----------
    name : str
        The registered model.
    reason, who : str
        Kept in the registry beside the version that loses the alias.

    Raises
    ------
    PromotionError
        If there is no champion, or it replaced none.
    TrackingError
        If the registry cannot be reached.
    """
    change = roll_back(name, who, reason)
    return with_message(change, f"Version {change.version} of {name} is champion again, by {who}: {reason}")


def summary(case: Case) -> str:
    """Return what a person decides on, in Markdown."""
    gate = "passes" if case.decision.promote else "does not pass"
    now = "" if case.champion is None else f" Version {case.champion} is champion now."
    head = (
        f"Version {case.version} of **{case.name}** {gate} the statistical gate. {case.decision.reason}{now} "
        f"{link('Source, evidence and history', case.page)}"
    )
    before = f"\n\nThe same rule was a challenger before: {case.refused}." if case.refused else ""
    return f"{head}{before}\n\n{case.card}"


def _ask(case: Case, limit_s: int) -> Approval:
    form = Approval.with_initial_data(description=summary(case))
    # An answer is about one version: should another be challenger by then, it is asked about anew.
    key = f"approval-{case.version}"
    run = present_run()
    if run is not None and run.deployment_id is not None:
        # Nothing waits meanwhile; the worker starts the run anew once there is an answer.
        answer = suspend_flow_run(wait_for_input=form, timeout=limit_s, key=key)
    else:
        answer = pause_flow_run(wait_for_input=form, timeout=limit_s, poll_interval=_POLL_S, key=key)
    return Approval.model_validate(answer.model_dump())


def _stays(case: Case, by: str, reason: str) -> ChampionChange:
    change = ChampionChange(name=case.name, version=case.version, champion=False, by=by, reason=reason)
    return with_message(change, f"Version {case.version} stays challenger: {reason}")
