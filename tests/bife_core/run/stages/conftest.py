"""A home without Prefect and MLflow, the smoke preset's expert samples in it, and a runtime that tells what happens."""

import pytest

from bife_core.instances.config import FAMILIES
from bife_core.run.presets import preset, with_overrides
from bife_core.run.stages.collect import collect
from bife_core.run.stages.runtime import Conductor, Runtime
from bife_core.run.stages.search import NEARLY_USED, search
from bife_core.run.study.journal import claim_on
from bife_core.store.home import Home
from tests.support.diary import Diary
from tests.support.instances import QUICK_AUCTIONS


class Telling(Conductor):
    """Keeps what it announces; no other process can work on a search meanwhile."""

    def __init__(self, home):
        self.claims, self.announced = home.store.claims, []

    def announce(self, event, subject, payload):
        if event == NEARLY_USED:
            assert not self.claims.take([claim_on(subject.removeprefix("search."))])
        self.announced.append((event, payload))


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        home = tmp_path_factory.mktemp("home")
        patch.setenv("BIFE_HOME", str(home))
        patch.setitem(FAMILIES, "combinatorial_auction", QUICK_AUCTIONS)
        for name in ("BIFE_STORE", "MLFLOW_TRACKING_URI"):
            patch.delenv(name, raising=False)
        yield Runtime(Home(home), Diary(), conductor=Telling(Home(home)))


@pytest.fixture(scope="module")
def collected(runtime):
    return collect(preset("smoke"), runtime).summary


@pytest.fixture
def searched(runtime, collected, monkeypatch):
    """Return a function that runs a search of its own, by a model API if there is one."""
    runtime.conductor.announced.clear()

    def go(seed, api=None, **settings):
        overrides = {"search.seed": seed, "high.instances": 1, "high.race": False}
        if api is not None:
            api.configure(monkeypatch, timeout_s=2, tries=1, price_in=1.0, price_out=2.0)
            overrides["generator.kind"] = "openai"
        overrides |= {name.replace("__", "."): value for name, value in settings.items()}
        return search(with_overrides(preset("smoke"), overrides), runtime, collected)

    return go
