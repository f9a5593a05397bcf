"""The table of deployments and `prefect.yaml` say the same, and a server keeps what a person changed."""

from __future__ import annotations

from dataclasses import replace

import pytest
import yaml
from prefect.client.schemas.actions import DeploymentUpdate
from prefect.events.schemas.automations import AutomationCore

from bife_core.config import PipelineConfig
from bife_core.presets import preset
from flows.operate.automations import LOST_RUNS, REACTIONS
from flows.operate.deployments import DEPLOYMENTS, WORK_POOL, Schedule, code_version, register, searching_anew
from tests.flows.cli.conftest import REPOSITORY


def test_the_file_for_prefect_deploy_says_what_the_table_says():
    described = yaml.safe_load((REPOSITORY / "prefect.yaml").read_text(encoding="utf-8"))
    assert described["pull"] == []
    assert [entry["name"] for entry in described["deployments"]] == [
        deployment.name for deployment in DEPLOYMENTS
    ]
    for entry, deployment in zip(described["deployments"], DEPLOYMENTS, strict=True):
        assert entry["description"] == deployment.about
        assert entry["entrypoint"] == deployment.entrypoint
        assert entry["tags"] == deployment.tags
        assert entry["work_pool"] == {"name": WORK_POOL}
        limit = entry.get("concurrency_limit")
        assert (limit and limit["limit"]) == deployment.at_once
        assert limit is None or limit["collision_strategy"] == deployment.when_busy
        filled = {
            name: PipelineConfig.model_validate(given).model_dump(mode="json")
            for name, given in entry.get("parameters", {}).items()
        }
        assert filled == deployment.parameters
        triggers = {one.pop("name"): one for one in entry.get("triggers", [])}
        assert triggers == {
            reaction.name: {
                "description": reaction.about,
                "expect": [reaction.event],
                **({"parameters": dict(reaction.parameters)} if reaction.parameters else {}),
                **({"match": dict(reaction.match)} if reaction.match else {}),
            }
            for reaction in REACTIONS
            if reaction.deployment == f"{deployment.name}/{deployment.name}"
        }
        schedules = [Schedule(one["slug"], one["cron"], one["active"]) for one in entry.get("schedules", [])]
        assert schedules == ([deployment.schedule] if deployment.schedule else [])


def test_the_file_on_lost_runs_says_what_is_registered():
    described = yaml.safe_load((REPOSITORY / "prefect-lost-runs.yaml").read_text(encoding="utf-8"))
    assert AutomationCore.model_validate(described) == LOST_RUNS


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_registering_again_keeps_what_a_person_changed_and_renews_the_rest(served):
    # Under names of their own, so that other tests find the deployments as `bife up` made them.
    deployments = tuple(
        replace(deployment, flow=deployment.flow.with_options(name=f"{deployment.name}-again"))
        for deployment in DEPLOYMENTS
    )
    assert register(served, deployments) == []
    made = served.read_deployment_by_name("pipeline-again/pipeline-again")
    assert PipelineConfig.model_validate(made.parameters["config"]) == searching_anew()
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
    assert PipelineConfig.model_validate(filled.parameters["config"]) == searching_anew()
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
