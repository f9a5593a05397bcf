import re

from bench import findings

HEAD = "#!/usr/bin/env bash\nset -euo pipefail\n"


def script(folder, name, text):
    (folder / f"{name}.sh").write_text(HEAD + text)
    (folder / f"{name}.sh").chmod(0o755)


def test_the_index_has_every_script_once_and_in_order():
    rows = re.findall(r"(?m)^\| `([\w.-]+)` \|", (findings.FOLDER / "README.md").read_text(encoding="utf-8"))
    assert rows == sorted(path.name for path in findings.FOLDER.glob("*.sh"))


def test_every_script_pins_what_it_installs_and_compares_what_it_saw():
    for path in findings.FOLDER.glob("*.sh"):
        text = path.read_text(encoding="utf-8")
        installed = " ".join(re.findall(r"pip install --quiet --disable-pip-version-check (.*)", text))
        assert re.fullmatch(r"([\w-]+==[\w.]+ ?)+", installed), path.name
        assert re.search(r"(?s)\ndiff seen.txt - <<'SEEN'\n.+\nSEEN\n$", text), path.name
        assert path.stat().st_mode & 0o100, f"{path.name} is not executable"


def test_the_runner_says_which_scripts_changed(tmp_path, capsys):
    script(tmp_path, "a-same", "true\n")
    script(
        tmp_path, "b-changed", f"cd {tmp_path}; echo 2 | tee seen.txt\ndiff seen.txt - <<'SEEN'\n1\nSEEN\n"
    )
    script(tmp_path, "c-not-run", "echo no package >&2; false\n")
    assert findings.main([], tmp_path) == 1
    said = capsys.readouterr().out
    names = [line.split()[-1] for line in said.splitlines() if " s  " in line]
    assert names == ["a-same", "b-changed", "c-not-run"]
    assert "    < 2\n" in said
    assert "    no package\n" in said
    assert said.endswith("1 of 3 are as they were. Not: b-changed (changed), c-not-run (not run)\n")


def test_a_script_is_named_with_or_without_its_end(tmp_path, capsys):
    script(tmp_path, "a", "true\n")
    assert [findings.main([name], tmp_path) for name in ("a", "a.sh", "b")] == [0, 0, 2]
    assert "There is no finding b" in capsys.readouterr().err


def test_a_script_beyond_its_limit_ends_with_what_it_started(tmp_path):
    script(tmp_path, "slow", "sleep 60 & wait\n")
    assert findings.outcome(tmp_path / "slow.sh", 0.5) == ("not run", "It took more than 0.5 s.")
