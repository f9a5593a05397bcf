"""What the distribution declares and its wheel installs: the base serves the library, the extras the rest."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from functools import partial
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import yaml

from bife_core.base import VERSION
from bife_flows.operate.servers import free_port
from tests.support.operating import PrefectPage, smoke

REPOSITORY = Path(__file__).parents[1]
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MOST_PACKAGES, MOST_GB = 48, 0.9
"""Of the base in an empty environment, `pip` and `setuptools` left out; the aims were 20 and 0.4."""


def plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def declared(requirements):
    return {plain(re.match(r"[\w.-]+", requirement)[0]) for requirement in requirements}


BASE = declared(PROJECT["dependencies"])
EXTRAS = {extra: declared(wanted) for extra, wanted in PROJECT["optional-dependencies"].items()}


def test_every_dependency_has_a_tested_version():
    lines = (REPOSITORY / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = {plain(line.partition("==")[0]) for line in lines if "==" in line}
    assert (BASE | EXTRAS["llm"] | EXTRAS["operate"]) - pinned - {plain(PROJECT["name"])} == set()


def test_the_workflows_run_what_there_is():
    folder = REPOSITORY / ".github"
    files = [*folder.rglob("*.yml"), REPOSITORY / ".pre-commit-config.yaml", REPOSITORY / "CITATION.cff"]
    parsed = {path.name: yaml.safe_load(path.read_text(encoding="utf-8")) for path in files}
    jobs = {**parsed["tests.yml"]["jobs"], **parsed["release.yml"]["jobs"]}
    steps = [step for job in jobs.values() for step in job["steps"]]
    wanted = {name for step in steps for name in re.findall(r"\bmake ([\w-]+)", step.get("run", ""))}
    targets = re.findall(r"^([\w-]+):", (REPOSITORY / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert wanted == {"docs", "hostile", "lint", "postgres-tests", "test"}
    assert wanted <= set(targets)
    lowest, beyond = map(int, re.findall(r"3\.(\d+)", PROJECT["requires-python"]))
    assert jobs["test"]["strategy"]["matrix"]["python"] == [f"3.{minor}" for minor in range(lowest, beyond)]
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert parsed["CITATION.cff"]["version"] == PROJECT["version"] == VERSION


_WITHOUT_EXTRAS = """
import sys, importlib.abc

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[1].split(","):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
import bife_core
from bife_core.base.errors import ConfigError
from bife_core.search.generators.config import GENERATORS

for name in bife_core.__all__:
    getattr(bife_core, name)
try:
    GENERATORS.find("openai")
except ConfigError as error:
    print(error)
"""


def test_the_public_interface_needs_the_base_alone():
    absent = {
        name
        for name, packages in packages_distributions().items()
        if {plain(found) for found in packages} & (EXTRAS["llm"] | EXTRAS["operate"])
    } | {"pyarrow", "sklearn"}
    command = [sys.executable, "-c", _WITHOUT_EXTRAS, ",".join(sorted(absent - {"bife_core"}))]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "run `pip install 'bife-branching[llm]'`" in done.stdout


def test_nothing_tells_a_user_to_install_another_project():
    tracked = subprocess.run(["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True)
    for name in tracked.stdout.split():
        path = REPOSITORY / name
        if path.suffix in {".md", ".py", ".toml", ".yaml", ".txt"} and path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace")
            assert not re.search(r"pip install[^\n`]*[ '\"]bife([\[ '\"`]|$)", text), name


_SOLVING = """
import json, sys, time
import pyscipopt, bife_core

class First(pyscipopt.Eventhdlr):
    at = None
    def eventinit(self):
        self.model.catchEvent(pyscipopt.SCIP_EVENTTYPE.NODEBRANCHED, self)
    def eventexit(self):
        self.model.dropEvent(pyscipopt.SCIP_EVENTTYPE.NODEBRANCHED, self)
    def eventexec(self, event):
        First.at = First.at or time.perf_counter()

model = pyscipopt.Model()
model.hideOutput()
model.readProblem(sys.argv[1])
model.setParam("limits/nodes", 20)
model.includeEventhdlr(First(), "first", "the first branching")
began = time.perf_counter()
stats = bife_core.attach(model, bife_core.load_rule("paper_ca"))
model.optimize()
print(json.dumps({"first_s": First.at - began, "calls": stats.calls, "place": bife_core.__file__}))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built of a copy that has what git has and no more."""
    place = tmp_path_factory.mktemp("wheel")
    tracked = subprocess.run(["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    for name in tracked.stdout.split():
        if name.startswith(("bife_core/", "tasks/", "flows/")) or "/" not in name:
            (place / "source" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(REPOSITORY / name, place / "source" / name)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "-q", "--no-deps", "-w", place, place / "source"], check=True)
    (built,) = place.glob("*.whl")
    return built


@pytest.fixture
def installed(wheel, tmp_path):
    """Return a function that installs the wheel in an empty environment, and returns one that runs programs there."""
    (elsewhere := tmp_path / "elsewhere").mkdir()
    programs, alone = tmp_path / "empty" / "bin", {"BIFE_HOME": str(tmp_path / "home"), "PATH": ""}

    def run(program, *words, **variables):
        command = [programs / program, *map(str, words)]
        done = subprocess.run(
            command, cwd=elsewhere, env=alone | variables, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def install(extra=""):
        venv.create(tmp_path / "empty", with_pip=True)
        pip = [programs / "python", "-m", "pip", "install", "-q", "-c", REPOSITORY / "constraints.txt"]
        subprocess.run([*pip, f"{PROJECT['name']}{extra} @ {wheel.as_uri()}"], check=True)
        return run

    return install


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_the_base_wheel_solves_in_an_empty_environment(installed, tmp_path, capsys):
    run = installed()
    listed = json.loads(run("python", "-m", "pip", "list", "--format=json"))
    packages = {entry["name"] for entry in listed} - {"pip", "setuptools"}
    site = next((tmp_path / "empty" / "lib").glob("python*/site-packages"))
    files = [path for path in site.rglob("*") if path.is_file()]
    counted = [path for path in files if path.relative_to(site).parts[0] not in {"pip", "setuptools"}]
    gigabytes = sum(path.stat().st_size for path in counted) / 1e9
    instance = REPOSITORY / "tests" / "data" / "golden" / "cauctions_0.mps.gz"
    for _ in range(2):  # the first run compiles
        measured = json.loads(run("python", "-c", _SOLVING, instance))
    assert measured["calls"] > 0
    assert str(tmp_path) in measured["place"]
    with capsys.disabled():
        size = f"{len(packages)} packages, {gigabytes:.2f} GB"
        print(f"\nbase: {size}; from attach to the first branching {measured['first_s']:.2f} s")
    assert len(packages) <= MOST_PACKAGES
    assert gigabytes <= MOST_GB
    run("bife", "doctor")
    run("bife", "run", "--preset", "smoke")
    assert "models:/bife-combinatorial_auction-tiny/1" in run("bife", "rules", "list")


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_operations_install_and_run_what_is_started_on_prefects_page(installed, tmp_path):
    bife = partial(installed("[operate]"), "bife")
    assert "\nMLflow\n" in bife("run", "--preset", "smoke", "--seed", 1)
    ports = [free_port(0), free_port(0)]
    try:
        bife("up", "--detach", "--prefect-port", ports[0], "--mlflow-port", ports[1])
        ended = PrefectPage(f"http://127.0.0.1:{ports[0]}").end_well("pipeline", config=smoke())
        assert "The rule is not champion." in ended["state"]["message"]
        assert bife("status").count("answers") == 3
    finally:
        bife("down")
    assert not list((tmp_path / "elsewhere").iterdir())
