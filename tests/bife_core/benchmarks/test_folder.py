from __future__ import annotations

import csv
import errno
import gzip
import os
import shutil
import zipfile
from pathlib import Path

import pytest

from bife_core.benchmarks.base import SPLITS
from bife_core.benchmarks.folder import FolderBenchmark, open_folder
from bife_core.errors import InstanceError

KNAPSACK = "Maximize\n obj: 3 x + 2 y\nSubject To\n c: 2 x + y <= {}\nBinary\n x y\nEnd\n"
LINEAR = "Minimize\n obj: x\nSubject To\n c: x >= 1\nEnd\n"


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "models"
    path.mkdir()
    return path


def opened(folder, seed=0) -> FolderBenchmark:
    return open_folder(folder, folder.parent / "cache", seed)


def fill(folder, count, name="m{:02d}.lp"):
    for i in range(count):
        (folder / name.format(i)).write_text(KNAPSACK.format(i + 2))


def parts_of(benchmark):
    return {split: [i.digest for i in benchmark.instances(split, 1000)] for split in SPLITS}


def test_twelve_models_are_dealt_into_four_disjoint_parts(folder):
    fill(folder, 12)
    benchmark = opened(folder)
    parts = parts_of(benchmark)
    assert [len(parts[split]) for split in SPLITS] == [3, 3, 2, 4]
    assert len({digest for part in parts.values() for digest in part}) == 12
    assert benchmark.notes == ()
    assert benchmark.left_out == ()
    assert benchmark.name == "models"


@pytest.mark.parametrize("count", range(3, 12))
def test_small_folders_share_collection_and_design_only(folder, count):
    fill(folder, count)
    benchmark = opened(folder)
    parts = parts_of(benchmark)
    assert parts["collection"] == parts["design"]
    distinct = parts["design"] + parts["validation"] + parts["test"]
    assert len(distinct) == len(set(distinct)) == count
    assert all(parts.values())
    assert [note for note in benchmark.notes if f"({count} here)" in note] == list(benchmark.notes)


def test_with_two_models_only_the_test_is_unseen(folder):
    fill(folder, 2)
    benchmark = opened(folder)
    parts = parts_of(benchmark)
    assert parts["collection"] == parts["design"] == parts["validation"]
    assert set(parts["design"]).isdisjoint(parts["test"])
    assert len(benchmark.notes) == 1


def test_with_one_model_the_user_is_told_that_the_test_was_seen(folder):
    fill(folder, 1)
    benchmark = opened(folder)
    assert all(len(part) == 1 for part in parts_of(benchmark).values())
    (note,) = benchmark.notes
    assert "also" in note or "very instance used for design" in note


def test_the_split_does_not_depend_on_place_name_or_time(folder, tmp_path):
    fill(folder, 14)
    first = parts_of(opened(folder))
    elsewhere = tmp_path / "deep" / "elsewhere"
    (elsewhere / "sub").mkdir(parents=True)
    for i, path in enumerate(sorted(folder.iterdir(), reverse=True)):
        copy = elsewhere / ("sub" if i % 2 else ".") / f"other{i}.lp"
        shutil.copy(path, copy)
        os.utime(copy, (i, i))
    assert parts_of(opened(elsewhere)) == first


def test_gzipping_a_model_does_not_move_it(folder):
    fill(folder, 13)
    first = parts_of(opened(folder))
    path = folder / "m03.lp"
    (folder / "m03.lp.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    assert parts_of(opened(folder)) == first


def test_another_seed_gives_another_split(folder):
    fill(folder, 16)
    splits = {str(parts_of(opened(folder, seed))) for seed in range(5)}
    assert len(splits) == 5


def test_names_are_paths_within_the_folder(folder):
    (folder / "sub").mkdir()
    fill(folder, 1)
    fill(folder / "sub", 2)
    names = {i.name for split in SPLITS for i in opened(folder).instances(split, 9)}
    assert names == {"m00.lp", "sub/m01.lp"}


def test_equal_files_count_once_and_this_is_noted(folder):
    fill(folder, 2)
    shutil.copy(folder / "m01.lp", folder / "twin.lp")
    benchmark = opened(folder)
    assert len(benchmark.instances("design", 9) + benchmark.instances("test", 9)) == 2
    assert any("twin.lp has the same content as m01.lp" in note for note in benchmark.notes)


def test_unusable_files_are_left_out_each_with_its_reason(folder, foreign):
    fill(folder, 3)
    (folder / "cut.mps").write_bytes((foreign / "lseu.mps").read_bytes()[:4000])
    (folder / "linear.lp").write_text(LINEAR)
    (folder / "empty.cip").touch()
    benchmark = opened(folder)
    reasons = {path.name: reason for path, reason in benchmark.left_out}
    assert {f"Left out: {reason}" for reason in reasons.values()} <= set(benchmark.notes)
    assert set(reasons) == {"cut.mps", "linear.lp", "empty.cip"}
    assert "cut off" in reasons["cut.mps"]
    assert "no integer variables" in reasons["linear.lp"]
    assert "empty" in reasons["empty.cip"]
    assert all(reason.startswith(name) and reason.endswith(".") for name, reason in reasons.items())
    assert len({digest for part in parts_of(benchmark).values() for digest in part}) == 3


def test_models_discrete_by_their_constraints_only_go_to_test(folder, foreign):
    fill(folder, 2)
    shutil.copy(foreign / "semicon1.mps", folder)
    benchmark = opened(folder)
    assert [i.name for i in benchmark.instances("test", 9)][-1] == "semicon1.mps"
    seen = [i.name for split in SPLITS[:3] for i in benchmark.instances(split, 9)]
    assert "semicon1.mps" not in seen
    assert any("semicon1.mps has no integer variables" in note for note in benchmark.notes)


def test_other_and_hidden_files_are_passed_over(folder):
    fill(folder, 1)
    (folder / "README.md").write_text("about")
    (folder / ".hidden.lp").write_text("broken")
    (folder / ".git").mkdir()
    (folder / ".git" / "m.lp").write_text("broken")
    benchmark = opened(folder)
    assert benchmark.left_out == ()
    assert [i.name for i in benchmark.instances("test", 9)] == ["m00.lp"]


def refusal(folder):
    with pytest.raises(InstanceError) as caught:
        opened(folder)
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(".")
    return message


def test_empty_missing_and_misnamed_folders_are_refused(folder, tmp_path):
    assert "holds no instance" in refusal(folder)
    assert "There is no folder" in refusal(tmp_path / "gone")
    file = tmp_path / "file.mps"
    file.touch()
    assert "is a file" in refusal(file)


def test_a_folder_without_a_usable_model_names_the_reasons(folder, foreign):
    (folder / "linear.lp").write_text(LINEAR)
    assert "The only instance file" in refusal(folder)
    shutil.copy(foreign / "semicon1.mps", folder)
    message = refusal(folder)
    assert message.startswith("None of the 2 instance files")
    assert "linear.lp has no integer variables" in message
    assert "semicon1.mps has no integer variables" in message
    for i in range(5):
        (folder / f"empty{i}.mps").write_text("\n" * i)
    assert "and 4 more" in refusal(folder)


def test_folders_that_name_a_split_keep_it(folder):
    for part, count in (("train", 6), ("valid", 2), ("test", 3)):
        (folder / part).mkdir()
        fill(folder / part, count, f"{part}{{:02d}}.lp")
    for number, path in enumerate(sorted(folder.rglob("*.lp"))):
        path.write_text(KNAPSACK.format(number + 2))
    benchmark = opened(folder)
    split = {name: {i.name.split("/")[0] for i in benchmark.instances(name, 9)} for name in SPLITS}
    assert split == {"collection": {"train"}, "design": {"train"}, "validation": {"valid"}, "test": {"test"}}
    parts = parts_of(benchmark)
    assert [len(parts[name]) for name in SPLITS] == [3, 3, 2, 3]
    assert len({digest for part in parts.values() for digest in part}) == 11
    assert any("3 collection, 3 design, 2 validation, 3 test" in note for note in benchmark.notes)

    shutil.rmtree(folder / "test")  # as competitions do: what is validation to them is the test
    parts = parts_of(opened(folder))
    assert [len(parts[name]) for name in SPLITS] == [2, 3, 1, 2]
    assert len({digest for part in parts.values() for digest in part}) == 8
    assert "share models" not in " ".join(opened(folder).notes)
    shutil.rmtree(folder / "valid")
    assert all(parts_of(opened(folder)).values()), "dealt out as if there were no folder"


@pytest.mark.parametrize(
    ("training", "valid", "sharing"),
    [
        (1, 1, "keep collection and design apart"),
        (3, 0, "keep collection, design and validation apart"),
        (4, 0, None),
        (2, 1, None),
    ],
)
def test_parts_of_an_arranged_folder_that_share_models_say_so(folder, training, valid, sharing):
    for part, count in (("train", training), ("valid", valid), ("test", 1)):
        (folder / part).mkdir()
        fill(folder / part, count, f"{part}{{:02d}}.lp")
    for number, path in enumerate(sorted(folder.rglob("*.lp"))):
        path.write_text(KNAPSACK.format(number + 2))
    notes = " ".join(opened(folder).notes)
    assert "Instances keep the split their folders name" in notes
    assert ("share instances" in notes) == (sharing is not None)
    assert (sharing or "") in notes


def test_models_in_archives_and_tables_are_found(folder):
    with zipfile.ZipFile(folder / "OTS-easy.zip", "w") as archive:
        for number in range(3):
            archive.writestr(f"OTS/{number}.lp", KNAPSACK.format(number + 2))
        archive.writestr("OTS/README.txt", "hello")
        archive.writestr("../escaped.lp", KNAPSACK.format(9))
    for part, bounds in (("train", (10, 11)), ("test", (12,))):
        with (folder / f"{part}.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["", "MILP", "format"])
            rows.writerows([k, str(KNAPSACK.format(k).encode()), "lp"] for k in bounds)
    (folder / "other.csv").write_text("a,b\n1,2\n")
    (folder / "broken.zip").write_bytes(b"PK nothing")
    benchmark = opened(folder)
    names = {i.name for part in SPLITS for i in benchmark.instances(part, 9)}
    assert names >= {"OTS-easy.zip/OTS/0.lp", "train.csv/00001.lp", "test.csv/00001.lp"}
    assert [i.name for i in benchmark.instances("test", 9)] == ["test.csv/00001.lp"]
    assert [path.name for path, _ in benchmark.left_out] == ["broken.zip"]
    assert not (folder.parent / "cache" / "escaped.lp").exists()
    assert parts_of(opened(folder)) == parts_of(benchmark)


def test_an_archive_that_another_program_unpacks_meanwhile_is_not_left_out(folder, monkeypatch):
    with zipfile.ZipFile(folder / "models.zip", "w") as archive:
        for number in range(2):
            archive.writestr(f"{number}.lp", KNAPSACK.format(number + 2))
    rename = Path.rename

    def beaten(made, target):
        shutil.copytree(made, target, dirs_exist_ok=True)
        return rename(made, target)

    monkeypatch.setattr(Path, "rename", beaten)
    benchmark = opened(folder)
    assert benchmark.left_out == ()
    assert {i.name for part in SPLITS for i in benchmark.instances(part, 9)} == {
        "models.zip/0.lp",
        "models.zip/1.lp",
    }


def test_damaged_archives_and_tables_are_left_out_each_with_its_reason(folder):
    fill(folder, 3)
    with zipfile.ZipFile(folder / "damaged.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.lp", KNAPSACK.format(7) * 200)
    whole = bytearray((folder / "damaged.zip").read_bytes())
    whole[40:80] = bytes(40)
    (folder / "damaged.zip").write_bytes(whole)
    (folder / "cut.csv").write_text('milp,format\n"b\'Maximize",lp\n')
    (folder / "odd.csv").write_text("milp,format\nMaximize,../lp\n")
    left_out = {path.name: reason for path, reason in opened(folder).left_out}
    assert left_out.keys() == {"damaged.zip", "cut.csv", "odd.csv"}
    assert "row 1 has the format '/lp', expected lp" in left_out["odd.csv"]


def test_links_are_followed_to_models_and_folders_but_not_in_circles(folder, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    fill(elsewhere, 30)
    (elsewhere / "back").symlink_to(folder)
    (folder / "linked").symlink_to(elsewhere)
    for number in range(26):
        (folder / f"a{number}.lp").symlink_to(elsewhere / f"m{number:02d}.lp")
    benchmark = opened(folder)
    assert benchmark.left_out == ()
    assert len({digest for part in parts_of(benchmark).values() for digest in part}) == 30


def test_what_a_machine_failed_at_is_tried_again(folder, monkeypatch):
    fill(folder, 3)

    def fail(*_):
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr("bife_core.scip.reading._uncompressed", fail)
        with pytest.raises(InstanceError, match="Input/output error"):
            opened(folder)
    assert opened(folder).left_out == ()


def test_an_lp_file_without_its_end_is_used_with_a_note(folder):
    fill(folder, 3)
    (folder / "learn2branch.lp").write_text(KNAPSACK.format(90).removesuffix("End\n"))
    benchmark = opened(folder)
    assert [note for note in benchmark.notes if "learn2branch.lp has no line 'End'" in note]
    assert benchmark.left_out == ()


def test_many_models_are_screened_side_by_side_and_once(folder, foreign):
    fill(folder, 40)
    (folder / "bad.mps").write_bytes((foreign / "lseu.mps").read_bytes()[:4000])
    cache, told = folder.parent / "cache", []
    first = open_folder(folder, cache, progress=lambda done, total: told.append((done, total)))
    assert told == [(count, 41) for count in range(1, 42)]
    assert [path.name for path, _ in first.left_out] == ["bad.mps"]
    told.clear()
    again = open_folder(folder, cache, progress=lambda done, total: told.append((done, total)))
    assert (parts_of(again), again.left_out, told) == (parts_of(first), first.left_out, [(41, 41)])
    (folder / "m07.lp").write_text(KNAPSACK.format(1000))
    told.clear()
    open_folder(folder, cache, progress=lambda done, total: told.append((done, total)))
    assert told == [(40, 41), (41, 41)], "only what was touched, and the refused file"


def test_models_of_very_unlike_sizes_are_remarked_on(folder):
    fill(folder, 3)
    assert opened(folder).notes[1:] == ()
    many = " ".join(f"x{i}" for i in range(50))
    row = " + ".join(many.split())
    (folder / "large.lp").write_text(
        f"Maximize\n obj: {row}\nSubject To\n c: {row} <= 7\nBinary\n {many}\nEnd\n"
    )
    assert opened(folder).notes[-1].startswith("The instances are unlike each other, with 2 to 50 variables:")
