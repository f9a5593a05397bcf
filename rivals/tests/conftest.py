"""What tests of the rivals share: tiny auctions, expert samples of them, the command that trains, and a killed run."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bife_core import InProcess, collect_decisions, open_benchmark
from bife_core.run.config import CollectionConfig, InstancesConfig
from bife_core.solver.scip.settings import SolverConfig


@pytest.fixture(scope="session")
def auctions(tmp_path_factory):
    return open_benchmark(InstancesConfig(size="tiny"), tmp_path_factory.mktemp("instances"))


@pytest.fixture(scope="session")
def recorded(auctions, tmp_path_factory):
    """Expert samples with their nodes."""
    folder, solver = tmp_path_factory.mktemp("recorded"), SolverConfig.model_validate("paper")
    config = CollectionConfig(decisions=40, decisions_per_instance=10, nodes=True)
    return collect_decisions(auctions, config, folder, InProcess(), solver=solver)


@pytest.fixture
def train_by_command(tmp_path):
    """Train a network by the command, in a home of the test's own; returns the file of the method."""

    def trained(*options):
        environment = os.environ | {"BIFE_HOME": str(tmp_path / "new"), "PREFECT_LOGGING_LEVEL": "WARNING"}
        environment.pop("MLFLOW_TRACKING_URI", None)
        command = [sys.executable, "-m", "bife_rivals", "--size", "tiny", *options]
        command += ["--preset", "smoke", "--workers", "1"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return Path(done.stdout.splitlines()[-1])

    return trained


@pytest.fixture
def goes_on(tmp_path):
    """Assert that a run of Symb4CO or GS4CO that is killed after some steps ends as one that was not."""

    def check(whole, begun, steps):
        half, resumed = begun(), begun()
        for _ in range(steps):
            half.advance()
        half.save(tmp_path / "half.npz")
        resumed.load(tmp_path / "half.npz")
        assert resumed.cpu_s == half.cpu_s > 0, "what was done before counts"
        while not resumed.done:
            resumed.advance()
        assert (resumed.ranked, resumed.history) == (whole.ranked, whole.history)
        for name, values in whole.policy.parameters.items():
            assert np.array_equal(values, resumed.policy.parameters[name]), name

    return check
