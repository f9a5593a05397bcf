"""What instances served says which rules they may judge, and how strictly, whatever is set, renamed or added."""

import itertools
import shutil
from dataclasses import replace

import pytest
from numpy.random import RandomState

from bife_core.instances.config import FAMILIES
from bife_core.run.config import InstancesConfig, PipelineConfig
from bife_core.run.presets import with_overrides
from bife_core.run.stages.held_out import (
    no_champion_by,
    own_test_instances,
    take_test_instances,
    unseen_instances,
)
from bife_core.run.stages.runtime import Runtime
from bife_core.solver.methods.base import RPB, ScipMethod
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.references import load_method

KNAPSACK = "Maximize\n obj: 3 x + 2 y\nSubject To\n c: 2 x + y <= {}\nBinary\n x y\nEnd\n"
R, S, T = map(load_method, ("paper_ca", "paper_sc", "paper_mis"))
PSCOST = ScipMethod(name="pscost")
LEAN = Configuration(params={"separating/maxrounds": 0})


@pytest.fixture(autouse=True)
def store(monkeypatch, tmp_path):
    """Nothing has served anything."""
    monkeypatch.setenv("BIFE_STORE", str(tmp_path / "store"))


def folder(path, numbers, **instances):
    """Return settings for a folder that holds such knapsacks."""
    path.mkdir()
    for number in numbers:
        (path / f"{path.name}{number}.lp").write_text(KNAPSACK.format(number + 2))
    return PipelineConfig(instances=InstancesConfig(benchmark="folder", folder=path, **instances))


def search(config, collection=2, design=2, validation=2):
    """Use instances as a search does, and return their digests."""
    counts = {"collection": collection, "design": design, "validation": validation}
    sets = [Runtime().instances(config.instances, split, count) for split, count in counts.items()]
    return {one.digest for some in sets for one in some.instances}


def at_most(count):
    """Return settings by which an evaluation has so many instances at most."""
    return {"evaluation.instances": count, "evaluation.most_instances": count}


def judge(config, rule, promoting=True, others=(), count=None, **settings):
    """Return the digests of the instances that judge a rule, and which use of them it is."""
    settings = {key.replace("__", "."): value for key, value in settings.items()}
    config = with_overrides(config, settings | (at_most(count) if count else {}))
    if promoting:
        own = own_test_instances(config.instances, rule)
        config = config.model_copy(update={"instances": own})
    taken = take_test_instances(config, Runtime(), [rule, *others], [rule], promoting)
    return {one.digest for one in taken.instances}, taken.use


def test_a_rule_gets_no_other_instances_of_a_folder_by_asking_for_more_or_fewer(tmp_path):
    config = folder(tmp_path / "a", range(23))
    taken = [judge(config, R, count=count) for count in range(2, 8)]
    assert [use for _, use in taken] == [1, 2, 3, 4, 5, 6]
    for (fewer, _), (more, _) in itertools.pairwise(taken):
        assert fewer < more
    assert judge(config, R, count=3) == taken[1], "a repeated evaluation is the same use"
    assert judge(config, R, count=3, evaluation__time_limit_s=9.0)[1] == 7
    assert judge(config, R, count=3, others=[S])[1] == 8, "solves beside others are other solves"
    assert judge(config, R, count=3, tune__without_rule=0.5) == taken[1]


def test_another_rule_gets_the_least_used_instances_of_a_folder(tmp_path):
    config = with_overrides(folder(tmp_path / "a", range(23)), at_most(5))
    first, second, third = (judge(config, rule) for rule in (R, S, T))
    assert not first[0] & second[0]
    assert (first[1], second[1], third[1]) == (1, 1, 2)


def test_instances_that_were_added_judge_other_rules_alone_once_there_are_enough(tmp_path, monkeypatch):
    monkeypatch.setattr("bife_core.run.stages.held_out._LIKELY", 0.5)
    judged, use = judge(folder(tmp_path / "a", range(22)), R)
    assert (len(judged), use) == (11, 1)
    grown = folder(tmp_path / "b", range(44))
    added, use = judge(grown, S)
    assert (len(added), use) == (11, 1)
    assert not added & judged
    assert judge(grown, S) == (added, 1), "after a break it goes on with the same ones"
    assert judge(grown, R) == (judged, 1), "none was added that no other rule had"
    assert judge(grown, T) == (added | judged, 2)
    assert judge(grown, S, evaluation__metric="nodes")[1] == 3


def test_every_comparison_of_a_rule_counts_but_none_of_scips_own(tmp_path):
    config = with_overrides(folder(tmp_path / "a", range(12)), {"evaluation.instances": 20})
    assert judge(config, PSCOST, promoting=False)[1] == 0
    assert judge(config, R, promoting=False)[1] == 0
    assert judge(config, S)[1] == 2
    assert judge(config, R)[1] == 1, "it was the first, and is the same comparison"
    assert [judge(config, one)[1] for one in (LEAN, PSCOST)] == [3, 4], "what may be promoted counts"


@pytest.mark.parametrize("moved", [False, True])
def test_no_seed_and_no_growth_tests_on_what_served_a_search_or_makes_a_use_the_first(tmp_path, moved):
    config = folder(tmp_path / "a", range(20))
    searched = search(config)
    judged, use = judge(config, R, count=5)
    assert (len(searched), len(judged), use) == (4, 5, 1)
    assert not searched & judged
    for seed in (0, 1, 2):
        name = f"grown{seed}" if moved else "a"
        if moved:
            config = folder(tmp_path / name, range(20 + seed))
        again = with_overrides(config, {"instances.seed": seed})
        assert judge(again, R, count=5)[0] == judged
        every, _ = judge(again, S, count=99)
        assert judged <= every
        assert not searched & every
        searched |= search(again, 3, 3, 3)
        assert not searched & every
    assert judge(again, R, count=5)[1] > 1


def test_a_resumed_run_finds_the_same_instances(tmp_path):
    config = folder(tmp_path / "a", range(17))

    def stages():
        sets = (Runtime().instances(config.instances, s, 3) for s in ("collection", "design", "validation"))
        return [*(one.content for one in sets), judge(config, R)]

    assert stages() == stages() == stages()


def test_a_store_shared_by_two_homes_counts_for_both(tmp_path, monkeypatch):
    config = folder(tmp_path / "a", range(12))
    searched, first = search(config), judge(config, R)
    monkeypatch.setenv("BIFE_HOME", str(tmp_path / "other home"))
    shutil.move(tmp_path / "a", tmp_path / "b")
    moved = PipelineConfig(instances=InstancesConfig(benchmark="folder", folder=tmp_path / "b"))
    assert judge(moved, R) == first
    again, use = judge(moved, S)
    assert use == 2
    assert not again & searched


def test_a_folder_that_has_too_few_for_a_champion_says_so_and_what_to_do(tmp_path):
    def said(config, count=20):
        config = with_overrides(config, at_most(count))
        return no_champion_by(unseen_instances(config, Runtime()), config, Runtime())

    few, enough = folder(tmp_path / "few", range(12)), folder(tmp_path / "enough", range(20, 43))
    assert said(few) == (
        "No rule can become champion by 6 test instances, 8 are needed: add 4 instances or more to the folder.",
    )
    (sentence,) = said(few, 2)
    assert sentence.endswith(
        "instances or more to the folder and set evaluation.most_instances to 8 or more."
    )
    assert said(enough) == ()
    assert said(enough, 4) == (
        "No rule can become champion by 4 test instances, 8 are needed: "
        "set evaluation.most_instances to 8 or more.",
    )
    judge(enough, R, count=20)
    (sentence,) = said(enough, 9)
    assert "11 are needed at use 2 of some of them: set" in sentence
    assert said(PipelineConfig()) == (), "a family has as many as one asks for"


def test_where_all_instances_served_a_search_no_use_of_them_promotes_a_rule(tmp_path):
    whole = folder(tmp_path / "whole", range(23))
    search(whole, 99, 99, 99)
    part = folder(tmp_path / "part", range(100, 101))
    for one in Runtime().instances(whole.instances, "design", 99).instances:
        shutil.copy(one.path, part.instances.folder)
    (part.instances.folder / "part100.lp").unlink()
    assert judge(part, R)[1] == 0
    (sentence,) = no_champion_by(unseen_instances(part, Runtime()), part, Runtime())
    assert "all test instances of the folder served a search" in sentence


def test_a_rule_has_test_instances_of_a_family_whatever_is_set():
    config = with_overrides(PipelineConfig(), {"instances.size": "tiny", **at_most(2)})
    first, use = judge(config, R)
    assert use == 1
    for key, value in {
        "evaluation__time_limit_s": 9.0,
        "evaluation__seeds": (3,),
        "evaluation__metric": "nodes",
    }.items():
        use += 1
        assert judge(config, R, **{key: value}) == (first, use)
    assert judge(config, R, instances__seed=7, tune__without_rule=0.0) == (first, 1)
    more, use = judge(config, R, count=3)
    assert (first < more, use) == (True, 5)
    assert not judge(config, S)[0] & more


def test_a_family_with_a_list_of_instances_counts_over_all_seeds(monkeypatch):
    auctions = FAMILIES.find("combinatorial_auction")
    splits = ["test", "design", "collection", "validation"]
    source = {"source": lambda place: RandomState(splits.index(place.split)), "count": lambda size, split: 1}
    listed = replace(auctions, name="listed", **source)
    monkeypatch.setitem(FAMILIES, "listed", listed)
    config = PipelineConfig(instances=InstancesConfig(benchmark="listed", size="tiny"))
    assert [judge(config, rule, others=[ScipMethod(name=RPB)])[1] for rule in (R, S, T)] == [1, 2, 3]


def usable(config):
    """Return all instances of a folder as it is now."""
    return Runtime().benchmark(config.instances).opened.usable


def days(config, many=22, members=2):
    """Fill a folder with instances of so many days, and return settings that group them by it."""
    where = config.instances.folder
    for day, member in itertools.product(range(many), range(members)):
        (where / f"day{day:02}-{member}.lp").write_text(KNAPSACK.format(100 + members * day + member))
    return with_overrides(config, {"instances.groups": r"day\d\d"})


def test_a_search_has_seen_the_whole_group_of_what_it_solved_whatever_groups_are_called_later(tmp_path):
    grouped = days(folder(tmp_path / "a", ()))
    searched = search(grouped, 1, 1, 1)
    every = {one.digest: one.group for one in usable(grouped)}
    seen = {digest for digest, group in every.items() if group in {every[one] for one in searched}}
    assert len(seen) == 2 * len(searched)
    for groups in (None, r"(\d\d)-"):
        assert not judge(with_overrides(grouped, {"instances.groups": groups}), R, count=99)[0] & seen


def test_a_look_at_one_of_a_group_is_a_use_of_the_others(tmp_path):
    grouped = with_overrides(days(folder(tmp_path / "a", ()), 12), {"evaluation.instances": 6})
    alone = with_overrides(grouped, {"instances.groups": None})
    looked_at, _ = judge(alone, R, promoting=False, count=3)
    group_of = {one.digest: one.group for one in usable(grouped)}
    judging, _ = judge(grouped, S, count=99)
    assert judging
    assert not {group_of[one] for one in judging} & {group_of[one] for one in looked_at}


def test_groups_of_two_folders_that_are_called_alike_are_not_the_same(tmp_path):
    first = days(folder(tmp_path / "a", ()), 44, 1)
    seen = search(first, 99, 99, 99)
    other = folder(tmp_path / "b", ())
    for number, name in enumerate(sorted(one.name for one in usable(first) if one.digest in seen)):
        (other.instances.folder / name).write_text(KNAPSACK.format(500 + number))
    other = with_overrides(other, {"instances.groups": r"day\d\d"})
    judged, use = judge(other, R)
    assert (len(judged), use) == (11, 1)


@pytest.mark.parametrize("rule", [R, S])
def test_what_is_left_of_instances_that_were_judged_together_judges_no_rule(tmp_path, rule):
    config = folder(tmp_path / "a", range(24))
    judged, _ = judge(config, R, promoting=False)
    picked, added = folder(tmp_path / "picked", ()), folder(tmp_path / "added", range(100, 130))
    for one in usable(config):
        if one.digest in sorted(judged)[3:]:
            for where in (picked, added):
                shutil.copy(one.path, where.instances.folder)
    assert judge(picked, rule)[1] == 0
    (sentence,) = no_champion_by(unseen_instances(picked, Runtime()), picked, Runtime())
    assert "judged rules beside instances that are gone" in sentence
    others, use = judge(added, rule)
    assert use == 1
    assert not others & judged


@pytest.mark.parametrize("rule", [R, S])
def test_instances_that_were_judged_apart_do_not_judge_as_one_group(tmp_path, rule):
    config = folder(tmp_path / "a", range(24))
    judged, _ = judge(config, R, promoting=False)
    (config.instances.folder / "bad").mkdir()
    for one in usable(config):
        if one.digest in sorted(judged)[:5]:
            shutil.move(one.path, config.instances.folder / "bad")
    lumped = with_overrides(config, {"instances.groups": "^bad"})
    judge(lumped, R, promoting=False)
    assert not judge(lumped, rule)[0] & judged
