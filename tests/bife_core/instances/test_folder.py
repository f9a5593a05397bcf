import gzip
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from bife_core.base.errors import ConfigError, InstanceError
from bife_core.instances.base import SPLITS, Instance
from bife_core.instances.folder import _split, fewest_usable, open_folder
from bife_core.measure.evaluation.comparison import fewest_for_champion
from bife_core.solver.scip.differences import note

KNAPSACK = "Maximize\n obj: 3 x + 2 y\nSubject To\n c: 2 x + y <= {}\nBinary\n x y\nEnd\n"
LINEAR = "Minimize\n obj: x\nSubject To\n c: x >= 1\nEnd\n"


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "models"
    path.mkdir()
    return path


def opened(folder, seed=0, progress=None):
    return open_folder(folder, folder.parent / "cache", seed, progress)


def fill(folder, count):
    for i in range(count):
        (folder / f"m{i:02d}.lp").write_text(KNAPSACK.format(i + 2))


def parts_of(benchmark):
    return {split: [i.digest for i in benchmark.instances(split, 1000)] for split in SPLITS}


@pytest.mark.parametrize(
    ("count", "sizes", "shared"),
    [
        (24, [4, 4, 4, 12], ()),
        (37, [6, 6, 6, 19], ()),
        (11, [4, 4, 2, 5], ("collection", "design")),
        (3, [1, 1, 1, 1], ("collection", "design")),
        (2, [1, 1, 1, 1], ("collection", "design", "validation")),
        (1, [1, 1, 1, 1], SPLITS),
    ],
)
def test_instances_are_split_and_small_folders_share_some(folder, count, sizes, shared):
    fill(folder, count)
    benchmark = opened(folder)
    parts = parts_of(benchmark)
    assert [len(parts[split]) for split in SPLITS] == sizes
    assert all(parts[split] == parts[shared[0]] for split in shared)
    distinct = [parts[split] for split in SPLITS if split not in shared[1:]]
    digests = [digest for part in distinct for digest in part]
    assert len(set(digests)) == len(digests) == count
    assert len(benchmark.notes) == bool(shared)
    assert (benchmark.name, benchmark.left_out) == ("models", ())


def test_so_many_instances_give_enough_to_test_on_and_documents_say_how_many_a_champion_needs(folder):
    tests = fewest_for_champion(1)
    fewest = fewest_usable(tests)
    fill(folder, fewest)
    assert len(opened(folder).instances("test", 99)) == tests
    (folder / "m00.lp").unlink()
    assert len(opened(folder).instances("test", 99)) < tests
    for page in ("README.md", "docs/how-to/worth-it.md", "docs/explanation/questions.md"):
        assert f"fewer than {fewest}" in (Path(__file__).parents[3] / page).read_text(encoding="utf-8")


@given(
    st.lists(st.integers(0, 20), min_size=1, max_size=60),
    st.dictionaries(st.integers(1, 20), st.sampled_from(SPLITS)),
)
def test_no_split_cuts_through_a_group_and_each_begins_with_one_instance_of_every_group(numbers, served):
    instances = [
        Instance(f"m{k}", Path(f"m{k}"), f"d{k}", f"g{n}" if n else "") for k, n in enumerate(numbers)
    ]
    members = {}
    for instance in instances:
        members.setdefault(instance.group, []).append(instance)
    ordered = [tuple(group) for group in members.values()]
    kept = {f"g{n}": split for n, split in served.items()}
    parts, _ = _split(ordered, kept)
    assert all(instance in parts[kept[instance.group]] for instance in instances if instance.group in kept)
    parts, _ = _split(ordered, {})
    places = {}
    for split, part in parts.items():
        groups = [instance.group for instance in part]
        assert len(set(groups[: len(set(groups))])) == len(set(groups)) > 0
        for group in groups:
            places.setdefault(group, set()).add(split)
    shared = {frozenset(splits) for splits in places.values()}
    assert sum(map(len, shared)) == len(frozenset.union(*shared)) == len(SPLITS), (
        "a group is in another split too"
    )
    assert {instance for part in parts.values() for instance in part} == set(instances)


def test_what_an_expression_matches_in_a_path_makes_a_group(folder):
    for day in range(6):
        (folder / f"plan-{day}").mkdir()
        for number in range(3):
            (folder / f"plan-{day}" / f"m{number}.lp").write_text(KNAPSACK.format(10 * day + number + 2))
    (folder / "alone.lp").write_text(KNAPSACK.format(500))
    benchmark = open_folder(folder, folder.parent / "cache", groups=r"(plan-\d)/|never")
    assert "19 usable instances in 7 groups." in benchmark.notes
    assert "With fewer than 24 groups of usable instances (7 here)" in benchmark.notes[-1]
    groups = {instance.name: instance.group for instance in benchmark.usable}
    digests = {instance.name: instance.digest for instance in benchmark.usable}
    assert groups.pop("alone.lp") == digests["alone.lp"]
    assert all(name.startswith(f"{group}/") for name, group in groups.items())
    assert len({instance.group for instance in benchmark.instances("test", 2)}) == 2
    by_number = open_folder(folder, folder.parent / "cache", groups=r"m\d")
    assert len({instance.group for instance in by_number.usable}) == 4
    with pytest.raises(ConfigError, match=r"instances.groups is no regular expression: '\(', missing \)"):
        open_folder(folder, folder.parent / "cache", groups="(")


def test_the_split_does_not_depend_on_place_name_time_or_compression(folder, tmp_path):
    fill(folder, 14)
    first = parts_of(opened(folder))
    elsewhere = tmp_path / "deep" / "elsewhere"
    (elsewhere / "sub").mkdir(parents=True)
    for i, path in enumerate(sorted(folder.iterdir(), reverse=True)):
        copy = elsewhere / ("sub" if i % 2 else ".") / f"other{i}.lp"
        shutil.copy(path, copy)
        os.utime(copy, (i, i))
    packed = elsewhere / "other3.lp"
    packed.unlink(missing_ok=True)
    third = elsewhere / "sub" / "other3.lp"
    (elsewhere / "other3.lp.gz").write_bytes(gzip.compress(third.read_bytes()))
    third.unlink()
    assert parts_of(opened(elsewhere)) == first
    assert len({str(parts_of(opened(folder, seed))) for seed in range(5)}) == 5


def test_equal_files_count_once_and_names_are_paths_within_the_folder(folder):
    (folder / "sub").mkdir()
    fill(folder / "sub", 2)
    shutil.copy(folder / "sub" / "m01.lp", folder / "zz.lp")
    names = {i.name for split in SPLITS for i in opened(folder).instances(split, 9)}
    assert names == {"sub/m00.lp", "sub/m01.lp"}


def test_unusable_files_are_left_out_each_with_its_reason(folder, foreign):
    fill(folder, 3)
    (folder / "cut.mps").write_bytes((foreign / "lseu.mps").read_bytes()[:4000])
    (folder / "linear.lp").write_text(LINEAR)
    (folder / "empty.cip").touch()
    benchmark = opened(folder)
    assert {f"Left out: {reason}" for reason in benchmark.left_out} <= set(benchmark.notes)
    cut, empty, linear = benchmark.left_out
    assert cut.startswith("cut.mps is cut off")
    assert empty == "empty.cip is empty."
    assert linear.startswith("linear.lp has no integer variables")
    assert len({digest for part in parts_of(benchmark).values() for digest in part}) == 3


def test_what_other_solvers_read_otherwise_is_noted_once_for_all_files(folder):
    fill(folder, 5)
    for path in sorted(folder.iterdir())[:3]:
        path.write_text(path.read_text().removesuffix("End\n"))
    (folder / "other.mps").write_bytes(
        b"NAME\nOBJSENSE MAX\nROWS\n N o\n L c\nCOLUMNS\n x o 1 c 2\nRHS\n r c 1\nBOUNDS\n BV b x\nENDATA\n"
    )
    first = opened(folder)
    assert first.notes[:2] == (f"1 file: {note('mps.objsense')}", f"3 files: {note('lp.no_end')}")
    assert opened(folder).notes == first.notes, "also where no file is read again"


def test_other_and_hidden_files_are_passed_over(folder):
    fill(folder, 1)
    (folder / "README.md").write_text("about")
    (folder / ".hidden.lp").write_text("broken")
    (folder / ".git").mkdir()
    (folder / ".git" / "m.lp").write_text("broken")
    benchmark = opened(folder)
    assert benchmark.left_out == ()
    assert [i.name for i in benchmark.instances("test", 9)] == ["m00.lp"]


def test_a_folder_that_cannot_be_used_is_refused_in_words(folder, tmp_path):
    with pytest.raises(InstanceError, match=r"holds no instance.* expected a \.mps"):
        opened(folder)
    (folder / "day.zpl").touch()
    with pytest.raises(InstanceError, match=r"holds no instance.*zimpl -t mps"):
        opened(folder)
    with pytest.raises(InstanceError, match="gone is no folder of instances"):
        opened(tmp_path / "gone")
    for i in range(25):
        (folder / f"empty{i:02d}.mps").write_text("\n" * i)
    with pytest.raises(InstanceError, match=r"No instance file in .*empty00.mps is empty\..* 5 more files"):
        opened(folder)


def test_links_are_followed_to_files_and_folders_but_not_in_circles(folder, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    fill(elsewhere, 4)
    (elsewhere / "back").symlink_to(folder)
    (folder / "linked").symlink_to(elsewhere)
    (folder / "a.lp").symlink_to(elsewhere / "m00.lp")
    benchmark = opened(folder)
    assert benchmark.left_out == ()
    assert len({digest for part in parts_of(benchmark).values() for digest in part}) == 4


def test_many_files_are_screened_side_by_side_and_once(folder, foreign):
    fill(folder, 40)
    (folder / "bad.mps").write_bytes((foreign / "lseu.mps").read_bytes()[:4000])
    seen = []
    first = opened(folder, progress=lambda *counts: seen.append(counts))
    assert seen == [(count, 41) for count in range(1, 42)]
    assert [reason.split()[0] for reason in first.left_out] == ["bad.mps"]
    seen.clear()
    again = opened(folder, progress=lambda *counts: seen.append(counts))
    assert (again, seen) == (first, [(41, 41)])
    (folder / "m07.lp").write_text(KNAPSACK.format(1000))
    seen.clear()
    opened(folder, progress=lambda *counts: seen.append(counts))
    assert seen == [(40, 41), (41, 41)], "only what was touched, and the refused file"


def test_what_other_checks_accepted_is_read_again(folder, monkeypatch):
    fill(folder, 2)
    opened(folder)
    read = []
    opened(folder, progress=lambda done, total: read.append(done))
    assert read == []
    monkeypatch.setattr("bife_core.instances.folder._checks", lambda: "of another version")
    opened(folder, progress=lambda done, total: read.append(done))
    assert read == [1, 2]


def test_what_is_noted_of_a_file_without_integers_is_said_too(folder):
    mps = "NAME\nROWS\n N o\n G c\nCOLUMNS\n x o 1 c 1\nRHS\n r o 10 c 1\nENDATA\n"
    folder.mkdir(exist_ok=True)
    (folder / "a.mps").write_text(mps)
    with pytest.raises(InstanceError, match="nothing to branch on") as caught:
        opened(folder)
    assert str(caught.value).endswith(f"1 file: {note('mps.constant')}")
    fill(folder, 1)
    assert f"1 file: {note('mps.constant')}" in opened(folder).notes
