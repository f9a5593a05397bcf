"""RPB is tuned on the design instances: never to its harm, the same each time, and no further than its budget."""

from __future__ import annotations

import sys
from pathlib import Path

import pyscipopt
import pytest

from bife_core.benchmarks.base import Instance
from bife_core.errors import ConfigError
from bife_core.fidelity.config import HighFidelityConfig
from bife_core.fidelity.solving import Solving, solve_each
from bife_core.methods.base import RPB, ScipMethod
from bife_core.sandbox import InProcess, WorkerPool, Workers
from bife_core.scip.solver import SolverConfig
from bife_core.store import Store
from bife_core.tuning import LEAN, SPACE, Trial, Tuning, tune_rpb
from tests.support.stored import counts

NODES = HighFidelityConfig(instances=3, cost="nodes", time_limit_s=30)


def solving(pool: Workers, folder: Path) -> Solving:
    return Solving(NODES, SolverConfig(), pool, Store(folder))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tuned")


@pytest.fixture(scope="module")
def found(tiny_auctions: list[Instance], pool: WorkerPool, folder: Path) -> Tuning:
    return tune_rpb(tiny_auctions[:2], solving(pool, folder), 1e3, trials=5)


def test_it_goes_on_where_it_stopped_and_is_the_same_each_time(
    tiny_auctions: list[Instance], pool: WorkerPool, found: Tuning, folder: Path, tmp_path: Path
) -> None:
    assert [trial.params for trial in found.trials[:2]] == [{}, LEAN]
    assert (len(found.trials), found.trials[0].ratio, found.instances) == (5, 1.0, 2)
    solves = counts(folder)["solves"]
    assert tune_rpb(tiny_auctions[:2], solving(pool, folder), 1e3, trials=5) == found
    assert tune_rpb(tiny_auctions[:2], solving(pool, folder), 1e3, trials=3).trials == found.trials[:3]
    assert counts(folder)["solves"] == solves
    elsewhere = tune_rpb(tiny_auctions[:2], solving(pool, tmp_path), 1e3, trials=3)
    timeless = [[(trial.params, trial.ratio) for trial in one.trials[:3]] for one in (found, elsewhere)]
    assert timeless[0] == timeless[1]
    other = tune_rpb(tiny_auctions[:2], solving(pool, tmp_path), 1e3, trials=3, seed=1)
    assert other.trials[2].params != found.trials[2].params


def test_what_it_returns_solves_as_it_says_and_no_worse_than_rpb(
    tiny_auctions: list[Instance], pool: WorkerPool, found: Tuning, folder: Path
) -> None:
    ratio = 1.0
    for method, power in ((found.method, 1 / 2), (ScipMethod(name=RPB), -1 / 2)):
        for one in solve_each(method, tiny_auctions[:2], solving(pool, folder)):
            assert one.reused
            assert one.result is not None
            ratio *= one.result.nodes**power
    assert found.best.ratio == pytest.approx(ratio)
    assert ratio <= 1.0
    assert f"takes {ratio:.3f} of its nodes" in found.sentence or not found.method.params


def test_no_trial_begins_beyond_the_budget(
    tiny_auctions: list[Instance], pool: WorkerPool, tmp_path: Path
) -> None:
    one = tiny_auctions[:1]
    (rpb,) = tune_rpb(one, solving(pool, tmp_path), 1e-3).trials
    shown: list[tuple[int, int]] = []
    more = solving(pool, tmp_path)
    found = tune_rpb(one, more, 1.5 * rpb.cpu_s, progress=lambda *at: shown.append(at))
    spent = [sum(trial.cpu_s for trial in found.trials[:count]) for count in range(1, len(found.trials))]
    assert all(seconds < 1.5 * rpb.cpu_s <= found.cpu_s for seconds in spent)
    assert len(shown) == len(found.trials) - 1


def test_where_nothing_is_better_it_is_rpb() -> None:
    tried = (Trial(params={}, ratio=1.0, cpu_s=1.0), Trial(params=LEAN, ratio=None, cpu_s=2.0))
    none = Tuning(trials=(*tried, Trial(params=LEAN, ratio=1.0, cpu_s=1.0)), instances=2, cost="time")
    assert none.method.identity == RPB
    assert none.sentence == (
        "Tuned RPB is RPB: no better parameters were found on 2 design instances, by trying 2 settings in 4 CPU "
        "seconds."
    )


def test_scip_has_all_that_is_tuned_and_its_own_values_are_within() -> None:
    own = pyscipopt.Model().getParams()
    for name, given in SPACE.items():
        assert own[name] in given if isinstance(given, str) else given[0] <= own[name] <= given[1]
        assert isinstance(given, str) or type(own[name]) is type(given[0]) is type(given[1])


def test_without_optuna_it_says_what_to_install(
    tiny_auctions: list[Instance], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ConfigError, match=r"Optuna, which is not installed; run pip install"):
        tune_rpb(tiny_auctions[:1], solving(InProcess(), tmp_path), 1.0)
