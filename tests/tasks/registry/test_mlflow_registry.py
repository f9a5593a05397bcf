"""The registry in MLflow: it keeps what every registry keeps, and takes over what was registered without it."""

import mlflow
import pytest
from click.testing import CliRunner
from matplotlib.figure import Figure

from bife_core.registry.evidence import CHALLENGER, CHAMPION
from bife_core.registry.local import LocalRegistry
from bife_core.run.show import plots
from bife_core.run.stages.evaluation_files import sample_name
from bife_core.run.stages.records import SEARCH
from bife_core.run.stages.runtime import Runtime
from bife_core.solver.methods.references import registered_tags, stored_text
from bife_core.store.home import project_home
from bife_tasks.registry import registry as deciding_registry
from bife_tasks.registry.mlflow_registry import IN_MLFLOW, carry_over
from bife_tasks.stores import home_store, subscriber
from bife_tasks.tracker import MlflowTracker
from bife_tasks.tracking import mlflow_runs
from bife_tasks.tracking.mlflow_runs import TrackingError
from tests.support.challenging import challenge, made_champion, new_run
from tests.support.registered import beside, evidence, source
from tests.support.registry_contract import Keeping


class TestMlflowRegistry(Keeping):
    run = staticmethod(new_run)

    @pytest.fixture
    def registry(self):
        return IN_MLFLOW


def test_all_rules_are_listed_with_their_aliases(name, monkeypatch):
    made_champion(name, 0)
    made_champion(name, 1, ratio=0.9)
    made_champion(name, 2, ratio=0.9)
    read = []
    monkeypatch.setattr(
        "bife_tasks.registry.mlflow_registry.whole_tags", lambda one, _: read.append(one) or one.tags
    )
    found = [(rule.version, rule.aliases) for rule in IN_MLFLOW.versions() if rule.name == name]
    assert found == [(3, (CHALLENGER,)), (2, ()), (1, (CHAMPION,))]
    assert {int(one.version) for one in read if one.name == name} == {1, 3}, "not one request for each"


def test_a_version_has_ten_tags_and_the_rest_of_its_evidence_in_a_file(name):
    made = made_champion(name, 0)
    version = mlflow_runs.client().get_model_version(name, str(made.version))
    decided = {"approved_by", "approved_reason", "approved_at", "replaced_version"}
    assert len(version.tags.keys() - decided) == 10
    assert (version.tags["ratio"], made.evidence.bound, made.evidence.solves) == ("0.8", 0.95, 20)
    rest = mlflow.artifacts.load_dict(f"{made.reference}/{version.tags['evidence']}")
    assert rest["proofs"] == "20"
    again = made_champion(name, 0, bound=0.9)
    assert (again.version, again.evidence.bound) == (made.version, 0.9)
    assert registered_tags(again.reference) == again.tags


def test_a_deleted_run_takes_no_evidence_along(name, monkeypatch):
    from mlflow.cli import gc  # a second, which only this test needs

    monkeypatch.setattr(
        "mlflow.tracking._tracking_service.utils._tracking_uri", None
    )  # `gc` sets it for good
    made = made_champion(name, 0)
    run = made.tags["evaluation_run"]
    mlflow_runs.client().delete_run(run)
    uri = mlflow_runs.tracking_uri()
    done = CliRunner().invoke(gc, ["--backend-store-uri", uri, "--run-ids", run, "--tracking-uri", uri])
    assert "permanently deleted" in done.output
    assert IN_MLFLOW.find(name, CHAMPION).evidence == made.evidence


def test_an_evaluation_ends_when_it_did_though_its_rule_is_registered_later(name):
    run, ended_ms = new_run(), 1_900_000_000_000
    mlflow_runs.client().set_terminated(run, "FINISHED", ended_ms)
    challenge(name, 0, evaluation_run=run)
    info = mlflow_runs.client().get_run(run).info
    assert (info.status, info.end_time) == ("FINISHED", ended_ms)


def test_the_card_of_a_version_leads_to_what_its_evidence_names(name):
    search, run = new_run(), new_run()
    card = challenge(name, 0, search_run=search, evaluation_run=run).card
    for page in (
        f"/runs/{run}?",
        f"/runs/{run}/artifacts/report.html?",
        f"/runs/{search}?",
        "dataset.digest+%3D",
        f"](get-artifact?path=costs.png&run_uuid={run})",
    ):
        assert page in card


def test_the_page_of_a_name_shows_the_ratios_of_its_versions(name, monkeypatch):
    drawn = []
    monkeypatch.setattr(plots, "ratios", lambda rows, label: drawn.append((rows, label)) or Figure())
    made_champion(name, 0)
    second = made_champion(name, 1, ratio=0.9, ci_high=1.2)
    rows, label = drawn[-1]
    assert [(row[0], row[1], row[-1]) for row in rows] == [
        ("version 2", 0.9, "undecided"),
        ("version 1", 0.8, "better"),
    ]
    assert label == "CPU time, ratio to the baseline"
    about = mlflow_runs.client().get_registered_model(name).description
    run = second.tags["evaluation_run"]
    assert about.startswith("Branching rules for ")
    assert about.count("![") == 1
    assert about.endswith(f"](get-artifact?path=versions.png&run_uuid={run})")
    assert "versions.png" in {each.path for each in mlflow_runs.client().list_artifacts(run)}


def test_a_home_that_began_without_mlflow_carries_over(name, tmp_path, monkeypatch):
    monkeypatch.setenv("BIFE_STORE", str(tmp_path))
    local = LocalRegistry(home_store())
    for number in (0, 1):
        known = evidence(number, evaluation_run="evaluation-a", search_key="b", **beside(0))
        local.register(name, source(number), known, by_gate=True)
    with pytest.raises(TrackingError, match="does not have the run of the evaluation 'evaluation-a'"):
        carry_over()
    runs = {study: new_run() for study in ("evaluation-a", "b")}
    for study, run in runs.items():
        home_store().set_cursor(subscriber(), study, 1, run)
    assert carry_over() == 2
    second, first = IN_MLFLOW.versions(name)
    assert (first.aliases, second.aliases) == ((), (CHALLENGER, CHAMPION))
    assert (second.tags["evaluation_run"], second.tags["search_run"]) == (*runs.values(),)
    assert stored_text(f"models:/{name}@champion") == source(1)
    assert IN_MLFLOW.roll_back(name, "Ada", "too slow").version == first.version
    IN_MLFLOW.set_alias(name, CHAMPION, None)
    assert (carry_over(), carry_over(rebuild=True)) == (0, 0)
    assert "Ada took it out of use" in IN_MLFLOW.find(name, 2).refusal
    assert IN_MLFLOW.find(name, CHALLENGER) is None, "what a person took back stays so"


def test_before_mlflow_has_a_database_the_store_decides(tmp_path, monkeypatch):
    monkeypatch.setenv("BIFE_STORE", str(tmp_path))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    assert isinstance(deciding_registry(), LocalRegistry)
    (tmp_path / "mlflow.db").touch()
    assert deciding_registry() is IN_MLFLOW


def test_a_rule_of_a_run_is_known_by_its_sample():
    def made(**known):
        run = mlflow_runs.client().create_run(mlflow_runs.experiment_id(SEARCH), tags=known)
        return run.info.run_id

    search = made(kind="search", best_sample="g02-c03", lineage="g02-c03 by e2")
    for reference, name in (
        (f"runs:/{search}", "g02-c03"),
        (f"runs:/{search}/best_rule.py", "g02-c03"),
        (f"runs:/{search}/g01-c00.py", "g01-c00"),
        (f"runs:/{made(kind='sample', sample_id='g01-c01')}", "g01-c01"),
        ("paper_ca", None),
    ):
        assert sample_name(reference, Runtime(tracker=MlflowTracker(project_home()))) == name
