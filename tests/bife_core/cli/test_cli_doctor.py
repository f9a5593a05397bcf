import shutil
from contextlib import ExitStack
from dataclasses import replace

import pytest

from bife_core.base.errors import ConfigError, SolverError
from bife_core.cli import doctor
from bife_core.cli.doctor import CHECKS, examine
from bife_core.instances.config import FAMILIES
from bife_core.measure.trials import Raced
from bife_core.run.estimate import Estimate
from bife_core.run.stages.results import Precheck
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.references import load_method
from bife_core.solver.scip.differences import note
from bife_core.solver.scip.settings import SolverConfig
from bife_core.tuning.tuner import Trial, Tuning
from tests.support.instances import QUICK_AUCTIONS
from tests.support.model_answers import MODEL
from tests.support.model_api import ModelApi, Said
from tests.support.programs import FOREIGN, sentence


@pytest.fixture
def api(monkeypatch):
    """Start a model API that lists the given models, and name it in the environment."""

    def start(status=200, body=None):
        body = {"data": [{"id": MODEL}]} if body is None else body
        server = stack.enter_context(ModelApi(listing=Said(status, body), key="very-secret-key"))
        server.configure(monkeypatch)
        return server

    with ExitStack() as stack:
        yield start


def test_a_failed_check_is_shown_with_its_reason_and_the_others_go_on(bife, monkeypatch):
    def broken():
        raise ConfigError("The home cannot be written to.")

    def defect():
        raise TypeError("Body() got an\nunexpected argument")

    monkeypatch.setattr(doctor, "CHECKS", {"home": broken, "worker": defect, "Python": CHECKS["Python"]})
    result = bife("doctor")
    assert result.exit_code == 1
    assert sentence(result.stderr) == "These checks failed: home, worker."
    assert "The home cannot be written to." in result.stdout
    assert "TypeError: Body() got an unexpected argument" in result.stdout
    assert "Python" in result.stdout


@pytest.mark.parametrize(
    ("command", "output", "code", "text"),
    [
        (("doctor",), "best.txt", 2, "best.txt: files of a configuration end in .json or .set"),
        (("doctor",), "instance.set", 1, "instance.set is read and would be written over"),
        (("doctor",), "instance2.set", 1, "instance2.json is read and would be written over"),
        (("doctor",), "folder.set", 1, "Is a directory"),
        (("tune",), "best.txt", 2, "best.txt: files of a configuration end in .json or .set"),
        (("tune",), "instance.set", 1, "instance.set is read and would be written over"),
        (("tune", "--solver", "ours.set"), "ours.set", 1, "ours.set is read and would be written over"),
        (("tune", "--set", "solver=ours.set"), "ours.set", 1, "ours.set is read and would be written over"),
        (("tune", "--method", "mine.json"), "mine.set", 1, "mine.json is read and would be written over"),
        (("tune",), "folder.set", 1, "Is a directory"),
    ],
)
def test_what_cannot_be_written_is_said_before_any_solve(
    bife, monkeypatch, tmp_path, command, output, code, text
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "instances").mkdir()
    shutil.copy(FOREIGN / "lseu.mps", tmp_path / "instances")
    for link in ("instance.set", "instance2.json"):
        (tmp_path / link).symlink_to("instances/lseu.mps")
    (tmp_path / "folder.set").mkdir()
    (tmp_path / "ours.set").write_text("separating/maxrounds = 0\n")
    (tmp_path / "mine.json").write_text("{}")
    done = bife(*command, "--instances", "instances", "--output", output)
    assert (done.exit_code, done.stdout) == (code, "")
    assert text in " ".join(done.stderr.split())


@pytest.mark.long  # up to a minute of solves
def test_a_folder_of_instances_is_checked_where_it_is_given(bife, monkeypatch, tmp_path):
    monkeypatch.setattr(doctor, "CHECKS", {})
    shutil.copy(FOREIGN / "lseu.mps", tmp_path)
    (tmp_path / "cut.mps").write_bytes((FOREIGN / "lseu.mps").read_bytes()[:3000])
    output = tmp_path / "best.set"
    result = bife("doctor", "--instances", tmp_path, "--output", output)
    assert result.exit_code == 0, result.output
    found = " ".join(result.stdout.split())
    assert found.startswith("note: A champion needs 16 instances or more"), "said before anything is solved"
    for text in (
        "1 can be used. Left out: cut.mps is cut off",
        "(1 of 1 instance, RPB branches). 1 of 1 solve ended within 15 CPU seconds: methods are compared by CPU",
        "0 1 1.000 * SCIP default settings 1 1 ",
        "separating/maxrounds = 0",
    ):
        assert text in found
    method = next((path for path in (output.with_suffix(".json"), output) if path.is_file()), None)
    assert ("None of them is better" in found) == (method is None)
    if method is not None:
        assert f"At once: bife solve MODEL --rule {method}" in found
        assert output.is_file()
        assert bife("solve", FOREIGN / "lseu.mps", "--rule", method, "-q").exit_code == 0
    assert bife("doctor", "--instances", tmp_path / "nowhere").exit_code == 1


def test_what_was_noted_of_a_folder_is_said_where_no_instance_can_be_solved(bife, monkeypatch, tmp_path):
    def fails(config, runtime):
        raise SolverError("None of the instances can be solved.")

    monkeypatch.setattr(doctor, "CHECKS", {})
    monkeypatch.setattr("bife_core.run.stages.precheck.precheck", fails)
    mps = "NAME\nROWS\n N o\n G c\nCOLUMNS\n x o 1 c 1\nRHS\n r o 10 c 1\nBOUNDS\n BV b x\nENDATA\n"
    (tmp_path / "a.mps").write_text(mps)
    result = bife("doctor", "--instances", tmp_path)
    assert result.exit_code == 1
    found = " ".join(result.stdout.split())
    assert f"1 can be used. 1 file: {note('mps.constant')}" in found
    assert "None of the instances can be solved." in found


def test_peers_are_asked_about_the_instances_of_a_family_or_folder(bife, monkeypatch, tmp_path):
    monkeypatch.setattr(doctor, "CHECKS", {})
    asked = list[tuple[list[str], float]]()

    def beside(solves, limit_s):
        asked.append(([path.name for path, _ in solves], limit_s))
        yield "HiGHS is 12 times as fast here: consider it."

    monkeypatch.setattr("bife_core.measure.peers.beside", beside)
    quick = replace(QUICK_AUCTIONS, sizes={"test": QUICK_AUCTIONS.sizes["tiny"]})
    monkeypatch.setitem(FAMILIES, "combinatorial_auction", quick)
    result = bife("doctor", "--instances", "combinatorial_auction", "--peers")
    assert result.exit_code == 0, result.output
    assert "HiGHS is 12 times as fast here" in result.stdout
    ((names, limit_s),) = asked
    assert (len(names), limit_s) == (3, 15.0)
    alone = bife("doctor", "--peers")
    assert alone.exit_code == 1
    assert "--peers needs instances" in alone.stdout
    assert "no_family" in bife("doctor", "--instances", "no_family", "--peers").stdout


@pytest.mark.parametrize(
    ("status", "body", "state", "text"),
    [
        (200, None, "ok", f"answers; model {MODEL}"),
        (200, {"data": []}, "ok", f"answers; model {MODEL}"),
        (200, {"data": [{"id": f"models/{MODEL}"}]}, "ok", "answers"),
        (200, {"data": [{"id": "a"}, {"id": "b"}]}, "warn", f"lists no {MODEL}; it has a, b"),
        (401, {"detail": "Not this key."}, "fail", "refused the key"),
        (503, "", "warn", "HTTP 503"),
    ],
)
def test_a_model_api_is_asked_with_the_key_which_is_never_shown(api, status, body, state, text):
    server = api(status, body)
    finding = examine(CHECKS["model API"])
    assert finding.state == state
    assert text in finding.text
    assert server.base_url in finding.text
    (asked,) = server.listed
    assert asked.path == "/v1/models"
    assert asked.headers["authorization"] == "Bearer very-secret-key"
    assert "secret" not in finding.text


def test_a_model_api_that_is_not_configured_or_not_there(monkeypatch):
    for name in ("BIFE_LLM_BASE_URL", "OPENAI_BASE_URL", "BIFE_LLM_MODEL"):
        monkeypatch.delenv(name, raising=False)
    for name, value, state, text in (
        ("BIFE_LLM_API_KEY", "very-secret-key", "ok", "none configured"),
        ("BIFE_LLM_BASE_URL", "http://127.0.0.1:9/v1", "fail", "BIFE_LLM_MODEL"),
        ("BIFE_LLM_MODEL", "m", "fail", "http://127.0.0.1:9/v1 cannot be reached"),
    ):
        monkeypatch.setenv(name, value)
        finding = examine(CHECKS["model API"])
        assert finding.state == state
        assert text in finding.text
        assert "secret" not in finding.text


def test_a_home_that_is_a_file_fails(monkeypatch, tmp_path):
    (file := tmp_path / "home").touch()
    monkeypatch.setenv("BIFE_HOME", str(file))
    finding = examine(CHECKS["home"])
    assert (finding.state, "BIFE_HOME" in finding.text) == ("fail", True)


def trial(cost_s=1.0, ratio=1.0, **choices):
    raced = Raced(costs=(cost_s,), ratio=ratio, seen=1, cpu_s=1.0, won=True)
    return Trial(choices=choices, raced=raced)


def tuned(*trials, configuration=None):
    best = configuration or Configuration()
    return Tuning(trials=trials, instances=1, cost="time", configuration=best, starting=30)


@pytest.mark.parametrize("rule", ["pscost", "general"])
def test_the_best_settings_are_written_to_be_used_at_once(tmp_path, rule):
    best = Configuration(params={"separating/maxrounds": 0}, branching=load_method(rule))
    tuning = tuned(trial(), trial(cost_s=0.1, ratio=0.1, separating="off"), configuration=best)
    text = doctor._at_once(tuning, tmp_path / "best.set")
    assert SolverConfig.model_validate(tmp_path / "best.set").params.items() >= best.params.items()
    method = tmp_path / ("best.set" if rule == "pscost" else "best.json")
    assert f"bife solve MODEL --rule {method}" in text
    assert load_method(method).identity == best.identity
    assert ("scip -s" in text) == (rule == "pscost")


@pytest.mark.parametrize(
    ("usual_s", "cost_s", "sentence"),
    [
        (
            1.0,
            0.829,
            "None of them is better than SCIP's defaults beyond chance, by 1 of 30 starting settings; ",
        ),
        (0.01, 0.01, "Solves are too short to tune on 1 design instance: CPU time of at most 0.01"),
    ],
)
def test_noise_is_no_advice(tmp_path, usual_s, cost_s, sentence):
    tuning = tuned(trial(cost_s=usual_s), trial(cost_s=cost_s, separating="off"))
    assert doctor._at_once(tuning, tmp_path / "best.set").startswith(sentence)
    assert not list(tmp_path.iterdir())
    assert "may be chance" in tuning.sentence or "too short" in tuning.sentence


def test_a_folder_with_enough_instances_is_no_reason_to_warn(monkeypatch, tmp_path):
    checked = Precheck(sentence="Shares.", expected=Estimate(stages=(), cores=1))
    monkeypatch.setattr("bife_core.run.stages.precheck.precheck", lambda *_: checked)
    monkeypatch.setattr("bife_core.run.stages.tune.try_starts", lambda *_: tuned(trial()))
    for number in range(22):
        text = f"Maximize\n obj: x + y\nSubject To\n c: x + y <= {number}\nBinary\n x y\nEnd\n"
        (tmp_path / f"m{number}.lp").write_text(text)
        if number == 3:
            assert doctor._instances(tmp_path).state == "warn"
    finding = doctor._instances(tmp_path)
    lines = finding.text.split("\n")
    assert (finding.state, lines[2]) == ("ok", "Shares.")
    assert "None of them is better" in lines[-1]
    paired = doctor._instances(tmp_path, r"^m\d")
    assert paired.state == "warn"
    assert "22 usable instances in 10 groups." in paired.text
    need = "needs 16 groups or more, for 8 of them to be held out, if it takes 0.25 of RPB's time on each, and 22 if"
    assert need in paired.text
