"""`prefect.yaml` fits the flows, and a server keeps what a person changed."""

from __future__ import annotations

import pytest
from prefect.client.schemas.actions import DeploymentUpdate

from bife_core.presets import preset
from flows.operate.abandoned import GONE
from flows.operate.deployments import DEPLOYMENTS, LOST_RUNS, Deployment, code_version, register


def test_the_form_is_filled_with_the_quick_preset_and_another_seed_for_each_run():
    quick = preset("quick")
    anew = quick.model_copy(update={"search": quick.search.model_copy(update={"seed": None})})
    filled = [deployment.parameters for deployment in DEPLOYMENTS if deployment.parameters]
    assert filled == [{"config": anew.model_dump(mode="json")}] * 4


def test_every_declared_flow_can_be_imported_and_its_form_has_what_is_filled_in():
    for deployment in DEPLOYMENTS:
        expected = {name for trigger in deployment.triggers for name in trigger["parameters"]}
        assert deployment.form["properties"].keys() >= deployment.parameters.keys() | expected


def test_lost_runs_are_marked_with_what_a_worker_marks_them_with():
    assert LOST_RUNS.actions[0].message == GONE


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_registering_again_keeps_what_a_person_changed_and_renews_the_rest(served):
    # Under names of their own, so that other tests find the deployments as `bife up` made them.
    deployments = tuple(
        Deployment({**deployment.declared, "name": f"{deployment.name}-again"}) for deployment in DEPLOYMENTS
    )
    assert register(served, deployments) == []
    made = served.read_deployment_by_name("pipeline-again/pipeline-again")
    assert made.parameters == DEPLOYMENTS[3].parameters
    assert made.version == code_version()
    smaller = preset("smoke").model_dump(mode="json")
    served.update_deployment(
        made.id,
        DeploymentUpdate(
            parameters={"config": smaller},
            tags=["mine"],
            concurrency_limit=3,
            description="gone",
            version="0",
        ),
    )
    served.update_deployment_schedule(made.id, made.schedules[0].id, active=True)
    outdated = served.read_deployment_by_name("evolution-again/evolution-again")
    served.update_deployment(
        outdated.id,
        DeploymentUpdate(parameters={"config": {"search": {"wings": 2}}}, enforce_parameter_schema=False),
    )

    deployed = served.read_deployment_by_name("collection-again/collection-again")
    served.update_deployment(deployed.id, DeploymentUpdate(parameters={}, enforce_parameter_schema=False))

    notes = register(served, deployments)
    filled = served.read_deployment_by_name("collection-again/collection-again")
    assert filled.parameters == DEPLOYMENTS[0].parameters
    kept = served.read_deployment_by_name("pipeline-again/pipeline-again")
    assert kept.id == made.id
    assert kept.parameters == {"config": smaller}
    assert kept.tags == ["mine"]
    assert kept.global_concurrency_limit.limit == 3
    assert [schedule.active for schedule in kept.schedules] == [True]
    assert kept.description == made.description
    assert kept.version == made.version
    assert len(notes) == 1
    assert notes[0].startswith(
        "The parameters of evolution-again no longer fit and were set anew: search.wings"
    )
    renewed = served.read_deployment_by_name("evolution-again/evolution-again")
    assert renewed.parameters == DEPLOYMENTS[1].parameters
    assert renewed.enforce_parameter_schema
