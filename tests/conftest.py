"""What all tests share: instances, and directories of their own for everything that is written."""

import gc
import os
import re
import shutil
import signal
import sys
import tempfile
import uuid
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path

import certifi
import pytest

from bife_core.instances.config import FAMILIES
from bife_core.instances.generated import GeneratedBenchmark
from bife_core.workers import InProcess, WorkerPool
from bife_core.workers.cluster import RunnerConfig
from tests.support.databases import SERVER, copy_databases
from tests.support.instances import KNAPSACKS, QUICK_AUCTIONS
from tests.support.processes import VARIABLE, left_over

DATA = Path(__file__).parent / "data"


# Databases that tests write thousands of times need not outlive them: in memory, where it has room.
_MEMORY = Path("/dev/shm")
_FAST = os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > 2 * 2**30
HOME = Path(tempfile.mkdtemp(prefix="bife-tests-", dir=_MEMORY if _FAST else None))

# Set before anything imports `tasks`, where Prefect and MLflow get their addresses: nothing is written to the
# user's own home or servers.
os.environ["BIFE_HOME"] = str(HOME)
os.environ["BIFE_CORE_SLOTS"] = str(HOME / "cores")  # tests do not wait for what else runs on this machine
os.environ["MLFLOW_TRACKING_URI"] = (
    f"{SERVER}/mlflow" if SERVER else f"sqlite:///{HOME / 'mlflow' / 'mlflow.db'}"
)
for _name in [name for name in os.environ if name.startswith("PREFECT_")]:
    del os.environ[_name]
os.environ["PREFECT_SERVER_EPHEMERAL_ENABLED"] = "false"  # wherever Prefect is imported before `tasks`
for _name in ("BIFE_ENV_FILE", "MLFLOW_REGISTRY_URI", "BIFE_SERVER_AUTH", "BIFE_STORE"):
    os.environ.pop(_name, None)
if SERVER:
    os.environ["BIFE_STORE"] = f"{SERVER}/bife"

# All processes of a session of tests, those of xdist and what tests start, have it in their environment, where tests
# read it too: who imports this file makes a second home.
MARK = os.environ.setdefault(VARIABLE, HOME.name)

# No test speaks TLS, yet every HTTP client reads all certificates it trusts: with one each is made 50 times as fast.
_CERTIFICATE = HOME / "certificate.pem"
_CERTIFICATE.write_text(
    re.search("-----BEGIN CERT.*?END CERTIFICATE-----\n", certifi.contents(), re.DOTALL)[0], encoding="utf-8"
)
os.environ["SSL_CERT_FILE"] = str(_CERTIFICATE)

# Tests that press Ctrl-C start programs that have to hear it. A shell starts what it runs in the background with
# SIGINT ignored, and programs hand that on to those they start.
signal.signal(signal.SIGINT, signal.default_int_handler)


SHARED = {
    "operated": r"def \w+\((operated|served)\b",
    "prepared": r"def \w+\([^)]*\bsmoke\b|\bprepared\b|from prefect import flow\b",
    "recorded": r"def \w+\([^)]*\brecorded\b",
    "studied": r"run\.study\.conftest import|def data\(data\)",
}
"""Fixtures that start servers or make a whole run, and what shows that a file of tests uses one."""


@cache
def _group(file):
    """Return the shared fixture that a file of tests uses, else the file's own name.

    What waits for servers of its own goes to the process that waits for the shared ones: the others fill two cores.
    """
    text = (Path(__file__).parents[1] / file).read_text(encoding="utf-8")
    alone = "operated" if "/operate/" in file else file
    return next((name for name, used in SHARED.items() if re.search(used, text)), alone)


def pytest_collection_modifyitems(config, items):
    """Where tests are spread over processes, begin with what takes longest: no process is left with it at the end."""
    if hasattr(config, "workerinput"):
        groups = {item.nodeid: _group(item.nodeid.partition("::")[0]) for item in items}
        slow = {groups[item.nodeid] for item in items if item.get_closest_marker("slow")}
        last = "operated"  # its servers use processor time while they wait
        items.sort(
            key=lambda item: (
                groups[item.nodeid] not in SHARED, groups[item.nodeid] not in slow, last in item.fixturenames
            )
        )  # fmt: skip


gc.disable()  # until all is collected: what is imported stays, and collecting it takes a fifth of that time


def pytest_collection_finish():
    """Have the garbage collector skip what was imported: that takes longer than most tests."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Where tests are spread over processes, keep those of a file, and files that share a fixture, together."""
    from xdist.scheduler import LoadScopeScheduling

    class Together(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return _group(nodeid.partition("::")[0])

    return Together(config, log)


@pytest.fixture(scope="session")
def home():
    """The session's home, removed at its end."""
    return HOME


@pytest.fixture(scope="session")
def databases(pytestconfig):
    """Give a home the databases of Prefect and MLflow, which are made once for all sessions of these versions."""
    made_by = "-".join(f"{name}-{version(name)}" for name in ("prefect", "mlflow"))
    return partial(copy_databases, pytestconfig.cache.mkdir(f"databases-{made_by}"))


@pytest.fixture(scope="session")
def prepared(home, databases):
    """The session's home with the databases in it and an API of Prefect: for tests that run a flow in this process."""
    from bife_flows.operate.running import start_embedded_api
    from bife_tasks.tracking.mlflow_runs import client

    made = databases(home)
    start_embedded_api()
    client()  # MLflow's experiments lie in this home, wherever a test moves to later
    return made


@pytest.fixture
def name():
    """A registered model of no other test."""
    return f"bife-test-{uuid.uuid4().hex[:8]}"


@pytest.fixture(autouse=True)
def mlflow_answers():
    """Forget that MLflow was away: for some seconds this process would not try to reach it in the next test either."""
    known = sys.modules.get("bife_tasks.tracking.subscriber")
    if known is not None:
        vars(known.outage).clear()


@pytest.fixture(autouse=True)
def dots():
    """Draw a dot for each figure of a search, a tuning or a report: figures take longer than small solves."""
    style = sys.modules.get("bife_core.run.show.plots.style")  # matplotlib, which most tests do without
    with pytest.MonkeyPatch.context() as patch:  # that of a test is made, and undone, with its other fixtures
        if style is not None:
            drawn = partial(_dot, style._drawn, style.new_figure)
            patch.setattr(style, "_drawn", lambda _, **options: drawn(options["format"]))
        yield


@cache
def _dot(draw, figure, format_):
    return draw(figure(0.1, 0.1), format=format_)


@pytest.fixture
def bife(monkeypatch):
    """Call the command line in this process."""
    from typer.testing import CliRunner

    from bife_core.cli.program import program

    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("NO_COLOR", "1")

    def called(*arguments):
        words = [str(argument) for argument in arguments]
        return CliRunner().invoke(program(words), words)

    return called


@pytest.fixture
def quick_auctions(monkeypatch):
    """Auctions that take a tenth of a second."""
    monkeypatch.setitem(FAMILIES, "combinatorial_auction", QUICK_AUCTIONS)


@pytest.fixture
def in_process(monkeypatch):
    """Have what opens a pool for itself work in this process: a worker takes a second to start."""
    modules = ("measure.evaluation.compare", "run.stages.score", "run.study.study", "workers.cluster")
    monkeypatch.setattr("bife_core.workers.cluster._pools", {})
    for name in ("bench.claims", "bife_core", *(f"bife_core.{module}" for module in modules)):
        monkeypatch.setattr(f"{name}.WorkerPool", lambda *_, **__: InProcess())


@pytest.fixture(scope="session")
def golden_dir():
    """Four instances with the feature values of their first branchings."""
    return DATA / "golden"


@pytest.hookimpl(wrapper=True)
def pytest_sessionfinish(session):
    """Remove the session's home, and fail if a process that a test started outlives it."""
    shutil.rmtree(HOME, ignore_errors=True)
    yield  # xdist ends its processes here
    if "PYTEST_XDIST_WORKER" not in os.environ and (left := left_over(MARK)):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        print("\nThe tests left processes running:", *left, sep="\n", file=sys.stderr)


@pytest.fixture
def shared_workers(monkeypatch, pool):
    """Have stages and flows make their calls in the workers that all tests share."""
    runners = (RunnerConfig(), RunnerConfig(workers=1))
    monkeypatch.setattr("bife_core.workers.cluster._pools", dict.fromkeys(runners, pool))


@pytest.fixture(scope="session")
def instance_cache(tmp_path_factory):
    """Directory generated instances are cached in for the whole test run."""
    return tmp_path_factory.mktemp("instances")


@pytest.fixture(scope="session")
def knapsack_family(instance_cache):
    """Knapsacks that take about a hundred branchings and a tenth of a second each."""
    return GeneratedBenchmark(KNAPSACKS, "tiny", 0, instance_cache)


@pytest.fixture(scope="session")
def knapsacks(knapsack_family):
    """Three of them."""
    return knapsack_family.instances("test", 3)


class Roomy(WorkerPool):
    """A pool whose workers may use whatever folders tests do, so that none is replaced for the folder of one."""

    def __init__(self, workers, *places):
        super().__init__(workers)
        self.places = places

    def submit_batch(self, call, arguments, **allowed):
        """Queue calls; that calls name what they read and write is seen where a pipeline has a pool of its own."""
        allowed |= {"reads": (*self.places, DATA), "writes": self.places}
        return super().submit_batch(call, arguments, **allowed)


@pytest.fixture(scope="session")
def pool(tmp_path_factory):
    """Two workers that all tests share."""
    with Roomy(2, tmp_path_factory.getbasetemp(), HOME) as shared:
        yield shared
