"""F_LF of starts: nearer the best objective known is better."""

import re

import pytest

from bife_core import solve
from bife_core.instances.config import FAMILIES
from bife_core.instances.generated import GeneratedBenchmark
from bife_core.measure.config import HighFidelityConfig, LowFidelityConfig
from bife_core.measure.context import Reference, SolveContext
from bife_core.measure.starts import score_source, score_start
from bife_core.solver.scip.settings import SolverConfig
from bife_core.solver.starts.method import StartMethod
from bife_core.store import Store
from bife_core.workers import InProcess, WorkerFailure


@pytest.fixture(scope="module")
def placements(tmp_path_factory):
    """Two instances, with the optima of their own."""
    folder = tmp_path_factory.mktemp("starts")
    instances = GeneratedBenchmark(FAMILIES["item_placement"], "tiny", 0, folder).instances("test", 2)
    return instances, {instances[0].digest: 2.87826528, instances[1].digest: 8.3026673}


def test_it_is_one_minus_the_mean_gap_to_the_best_objective(placements):
    best = score_start(StartMethod(name="local_search"), *placements, InProcess(), 20.0)
    assert best.f_lf == pytest.approx(1.0, abs=1e-6)
    instances, objectives = placements
    halved = {digest: objective / 2 for digest, objective in objectives.items()}
    worse = score_start(StartMethod(name="local_search"), instances, halved, InProcess(), 20.0)
    assert worse.gaps == pytest.approx((0.5, 0.5))
    assert worse.f_lf == pytest.approx(0.5)
    assert worse.sentences[0].endswith("SCIP got 1 start, the best with an objective of 2.87826528.")
    assert 0.0 < worse.cpu_s < 20.0
    at_once, too_late = (
        score_start(StartMethod(name="local_search"), instances, halved, InProcess(), 20.0, usual_s)
        for usual_s in ((1e9, 1e9), (1e-9, 1e-9))
    )
    assert at_once.f_lf == pytest.approx(0.5)
    assert too_late.f_lf < 0.0
    nothing = score_start(StartMethod(name="family"), *placements, InProcess(), 20.0)
    assert (nothing.f_lf, nothing.gaps) == (0.0, (1.0, 1.0))


def test_python_of_a_model_is_scored_in_a_worker(knapsacks, pool):
    optima = {each.digest: solve(each.path).primal_bound for each in knapsacks[:2]}
    source = """
def start(problem):
    import numpy as np
    return problem.solve_restricted(np.full(len(problem.names), np.nan), 2000)
"""
    best = score_start(StartMethod(name="ours", source=source), knapsacks[:2], optima, pool, 20.0)
    assert best.f_lf == pytest.approx(1.0, abs=1e-6)
    hangs = StartMethod(name="hangs", source="def start(problem):\n    while True:\n        pass")
    worst = score_start(hangs, knapsacks[:2], optima, pool, 1.0)
    assert worst.f_lf == 0.0
    assert all("it was ended after 1 s" in sentence for sentence in worst.sentences)


def test_closed_workers_are_no_score(placements):
    closed = InProcess()
    closed.close()
    with pytest.raises(WorkerFailure, match="These workers were closed"):
        score_start(StartMethod(name="family"), *placements, closed, 1.0)


def test_a_better_start_than_any_known_has_a_negative_gap_and_one_without_a_known_objective_none(placements):
    instances, objectives = placements
    doubled = {instances[0].digest: 2 * objectives[instances[0].digest]}
    better = score_start(StartMethod(name="local_search"), instances, doubled, InProcess(), 20.0)
    assert better.gaps == pytest.approx((-0.5, 0.0))
    assert (better.f_lf, better.entered) == (pytest.approx(1.25), 2)


@pytest.mark.parametrize(
    ("source", "kind", "why"),
    [
        (
            "def start(problem):\n    return 1 / 0",
            "runtime",
            "no start on any of 2 instances: .* ZeroDivisionError",
        ),
        ("def start(problem):\n    return []", "runtime", "SCIP got 0 starts"),
        ("def candidate_variable_score(variable_features): return 1.0", "signature", "not a rule method"),
        ('{"kind": "configuration", "start": "no such"}', "syntax", "no such"),
    ],
)
def test_a_source_without_a_start_is_a_failure(placements, pool, tmp_path, source, kind, why):
    instances, objectives = placements
    solves = [solve(each.path, "relpscost", time_limit_s=5.0, solver="default") for each in instances]
    context = SolveContext(HighFidelityConfig(), SolverConfig(), pool, Store(tmp_path))
    reference = Reference(results=tuple(solves), stored=objectives)
    score = score_source(source, instances, reference, context, LowFidelityConfig(start_s=5.0))
    assert (score.f_lf, score.kind) == (None, kind)
    assert re.search(why, score.failure)
