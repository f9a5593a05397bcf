"""One real run from instances to a registered rule, shared by the tests that look at what it left."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from typer.testing import CliRunner, Result

from bife_core.instances.config import FAMILIES
from bife_core.run.config import PipelineConfig
from bife_core.run.presets import preset
from bife_core.run.stages.results import PipelineResult
from bife_flows.operate import running
from tests.support.diary import Diary
from tests.support.instances import QUICK_AUCTIONS


@dataclass(frozen=True)
class SmokeRun:
    """The run, what its observer saw, and what the command line printed."""

    config: PipelineConfig
    result: PipelineResult
    diary: Diary
    printed: Result


def demonstrate():
    """Call ``bife demo --preset smoke`` in this process, watched twice."""
    from bife_core.cli import program, stages

    diary, results, ready, run_stage = Diary(), [], running.ready, stages.run_stage

    def watched(observer, flows):
        diary.other = observer
        return ready(diary, flows)

    def kept(*args, **kwargs):
        results.append(run_stage(*args, **kwargs))
        return results[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "ready", watched)
        patch.setattr(stages, "run_stage", kept)
        patch.setenv("COLUMNS", "200")
        patch.setenv("NO_COLOR", "1")
        printed = CliRunner().invoke(program.program(), ["demo", "--preset", "smoke"])
    assert printed.exit_code == 0, printed.output
    return SmokeRun(preset("smoke"), results[0], diary, printed)


@pytest.fixture(scope="session")
def smoke(prepared):
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(FAMILIES, "combinatorial_auction", QUICK_AUCTIONS)
        return demonstrate()


@pytest.fixture(autouse=True)
def quick(quick_auctions, shared_workers):
    """What a flow of this process solves takes a tenth of a second, after `smoke` in workers that are there."""
