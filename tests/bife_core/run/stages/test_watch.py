"""The watch over a rule: what it is solved on next, and when it is known to be slower than RPB."""

import os
from itertools import chain
from pathlib import Path

import pytest

from bife_core.instances.base import Instance
from bife_core.run.config import InstancesConfig, PipelineConfig
from bife_core.run.presets import with_overrides
from bife_core.run.stages.held_out import take_test_instances
from bife_core.run.stages.runtime import Runtime
from bife_core.run.stages.watch import ChampionWatch, standing
from bife_core.solver.scip.settings import SolverConfig
from bife_tasks.tracking.subscriber import track
from tests.support.measured import BASELINE, LIMIT_S, RULE, solved, summary

KNAPSACK = "Maximize\n obj: 3 x + 2 y\nSubject To\n c: 2 x + y <= {}\nBinary\n x y\nEnd\n"


@pytest.fixture(autouse=True)
def store(monkeypatch, tmp_path):
    """Nothing has served anything."""
    monkeypatch.setenv("BIFE_STORE", str(tmp_path / "store"))


@pytest.fixture
def watched():
    return ChampionWatch(RULE, SolverConfig(), Runtime())


@pytest.fixture
def config(tmp_path):
    folder = tmp_path / "models"
    folder.mkdir()
    for number in range(24):
        path = folder / f"m{number}.lp"
        path.write_text(KNAPSACK.format(number + 2))
        os.utime(path, (number, number))
    made = PipelineConfig(instances=InstancesConfig(benchmark="folder", folder=folder))
    return with_overrides(made, {"evaluation.instances": 4})


def pair(rule_s, rpb_s, baseline=BASELINE.name):
    ours, theirs = solved(RULE.name, 0, rule_s).result, solved(BASELINE.name, 0, rpb_s).result
    return [ours, theirs.model_copy(update={"method": baseline})]


def found(watched):
    return watched.comparison("time", LIMIT_S)


def is_slower(comparison):
    return standing(comparison)[0]


def evaluated(instances, rule_s=1.0):
    """Return an evaluation of these instances, of 1 s under RPB each."""
    made = summary([rule_s] * len(instances), [1.0] * len(instances))
    facts = {f"m{k}": {"digest": one.digest, "group": one.group} for k, one in enumerate(instances)}
    return made.model_copy(update={"rows": tuple(row | facts[row["instance"]] for row in made.rows)})


def test_a_rule_is_slower_once_the_bound_over_all_that_was_watched_says_so(watched):
    assert standing(found(watched))[1] == "There is nothing to compare the champion on yet."
    instances = [Instance(f"m{k}", Path(f"m{k}.mps"), f"{k:016d}") for k in range(24)]
    watched.add_evaluation(evaluated(instances[:12], 1.5))
    before = found(watched)
    assert (before.groups, is_slower(before)) == (12, False)
    assert standing(before)[1].endswith("12 new instances; it is not known to be slower than RPB.")
    watched.add_evaluation(evaluated(instances[12:], 1.5))
    after = found(watched)
    assert (after.groups, is_slower(after)) == (24, True)
    assert "takes 1.500 of RPB's CPU time on 24 new instances; it is slower than RPB" in standing(after)[1]


def test_a_rule_that_stays_faster_is_never_known_to_be_slower(watched):
    watched.add_evaluation(summary([0.8] * 60, [1.0] * 60))
    assert not is_slower(found(watched))


def test_new_files_come_first_and_none_that_served_a_search_or_a_comparison(watched, config):
    splits = ("collection", "design", "validation")
    drawn = [Runtime().instances(config.instances, split, 9).instances for split in splits]
    used = {one.digest for one in chain.from_iterable(drawn)}
    compared = take_test_instances(config, Runtime(), [RULE, BASELINE], [RULE], promoting=False).instances
    used |= {one.digest for one in compared}
    chosen = watched.take_instances(config).instances
    assert len(compared) == len(chosen) == 4
    assert not used & {one.digest for one in chosen}
    times = [one.path.stat().st_mtime for one in chosen]
    assert times == sorted(times, reverse=True)


def test_a_run_goes_on_with_what_a_stopped_one_had_taken_and_then_with_others(watched, config):
    taken = watched.take_instances(config).instances
    assert watched.take_instances(config).instances == taken
    watched.add_evaluation(evaluated(taken))
    others = watched.take_instances(config).instances
    assert len(others) == 4
    assert not {one.digest for one in taken} & {one.digest for one in others}


def test_what_a_watch_took_judges_no_rule_beside_instances_that_are_new(watched, config):
    taken = watched.take_instances(config).instances
    judged = take_test_instances(
        with_overrides(config, {"evaluation.most_instances": 4}), Runtime(), [RULE], [RULE], True
    )
    assert judged.use == 1
    assert not {one.digest for one in taken} & {one.digest for one in judged.instances}


def test_a_family_gives_as_many_new_instances_as_are_asked_for(watched):
    family = with_overrides(PipelineConfig(), {"evaluation.instances": 2, "instances.size": "tiny"})
    first = watched.take_instances(family).instances
    watched.add_evaluation(evaluated(first))
    second = watched.take_instances(family).instances
    assert len({one.digest for one in (*first, *second)}) == 4


def test_a_group_is_taken_once(watched, config):
    grouped = with_overrides(config, {"instances.groups": "m(.)", "evaluation.instances": 1})
    groups = []
    while taken := watched.take_instances(grouped).instances:
        groups += [one.group for one in taken]
        watched.add_evaluation(evaluated(taken))
    assert len(groups) == len({*groups}) > 2


def test_recorded_solves_of_both_count_and_files_solved_by_the_rule_alone_are_solved_again(watched, config):
    paths = sorted(config.instances.folder.iterdir())[:4]
    assert watched.record(paths[0], pair(3.0, 1.0))
    assert watched.record(paths[1], pair(3.0, 1.0)[:1])
    assert watched.record(paths[2], pair(3.0, 1.0, "pscost"))
    paths[2].unlink()
    both = found(watched)
    assert (both.groups, round(1 / both.ratio, 6)) == (1, 3.0)
    chosen = watched.take_instances(config).instances
    assert (len(chosen), chosen[0].path) == (4, paths[1])
    assert len({one.digest for one in chosen}) == 4


def test_nothing_is_recorded_twice_or_of_what_served_a_search(watched, config):
    searched = Runtime().instances(config.instances, "design", 1).instances[0]
    assert not watched.record(searched.path, pair(3.0, 1.0))
    new = watched.take_instances(config).instances[0]
    assert watched.record(new.path, pair(3.0, 1.0))
    assert not watched.record(new.path, pair(3.0, 1.0))


def test_a_demotion_is_proposed_once_and_settings_have_watches_of_their_own(watched):
    assert [watched.propose_once() for _ in range(3)] == [True, False, False]
    assert ChampionWatch(RULE, SolverConfig(name="paper"), Runtime()).propose_once()
    other = RULE.model_copy(update={"name": "renamed"})
    assert not ChampionWatch(other, SolverConfig(), Runtime()).propose_once()


def test_mlflow_is_given_no_stream(watched):
    watched.add_evaluation(summary([1.0], [1.0]))
    assert list(track()) == []
