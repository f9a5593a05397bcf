import json

import pytest

from bife_core.language.rules import REFERENCE_RULES
from bife_core.registry.local import LocalRegistry
from bife_core.solver.methods.configuration import Configuration
from bife_core.solver.methods.references import load_method, method_of
from bife_core.store.home import project_home
from tests.support.programs import FOREIGN, program, sentence
from tests.support.registered import champion_in


def test_reference_rules_and_registered_ones_are_listed(bife, tmp_path, monkeypatch):
    monkeypatch.setenv("BIFE_HOME", str(tmp_path / "home"))
    shown = bife("rules", "list").stdout
    assert all(rule in shown for rule in REFERENCE_RULES)
    assert "No rule has been registered yet" in shown
    champion_in(LocalRegistry(project_home().store), "bife-test", 0, metric="gap")
    (line,) = (line for line in bife("rules", "list").stdout.splitlines() if "bife-test" in line)
    assert "gap 0.8 0.7 0.9" in " ".join(line.split())
    assert line.rstrip().endswith("relpscost  SCIP default settings")


def test_a_rule_is_shown_with_all_that_is_known_of_it(bife):
    shown = bife("rules", "show", "paper_ca,budget=0.25").stdout
    names = ("slack", "pseudocost_up", "pseudocost_down", "active_coef_weight4_sum")
    facts = ("def candidate_variable_score", "ast nodes", "0.25 of all LP iterations")
    assert all(text in shown for text in (*facts, *(f"  {name}" for name in names)))
    assert REFERENCE_RULES["paper_ca"].origin in bife("rules", "show", "paper_ca").stdout


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("show", "no_such_rule"), "There is no rule 'no_such_rule'"),
        (("show", "no/such/file.py"), "There is no file no/such/file.py"),
        (("show", "models:/bife-nothing/1"), "holds no models:/bife-nothing/1"),
        (("rollback", "bife-none", "--reason", "slow"), "bife-none has no champion"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(bife, arguments, text):
    result = bife("rules", *arguments)
    assert result.exit_code == 1
    assert text in sentence(result.stderr)


def test_a_configuration_is_shown_and_written_as_settings_and_its_rule(bife, tmp_path):
    whole = Configuration(params={"branching/scorefunc": "q"}, branching=load_method("paper_ca"))
    (file := tmp_path / "ours.json").write_text(whole.text)
    shown = bife("rules", "show", file).stdout
    assert shown.index("branching/scorefunc = q") < shown.index("  def candidate_variable_score")
    assert whole.identity in shown
    assert "Features it reads" in shown
    done = bife("export", file, "--output", tmp_path / "ours.c")
    written = [line.split()[1] for line in done.output.splitlines() if "Wrote" in line]
    assert written == [f"{tmp_path / name}." for name in ("ours.set", "ours.c")]
    lacks = f"# Without what branches, which {file} has.\n"
    assert (tmp_path / "ours.set").read_text() == f"{lacks}branching/scorefunc = q\n"
    assert "SCIPincludeBranchruleBife(" in (tmp_path / "ours.c").read_text()
    assert "It lacks" not in done.output
    parameters = bife("export", file, "--output", tmp_path / "ours.c", "--format", "dict")
    assert "note: It lacks what branches, which bife solve MODEL --rule " in " ".join(
        parameters.output.split()
    )


def test_settings_alone_need_no_c_and_are_not_written_over(bife, tmp_path):
    (settings := tmp_path / "ours.set").write_text("branching/scorefunc = q\n")
    assert "branching/scorefunc = q" in bife("rules", "show", settings).stdout
    assert bife("export", settings, "--output", tmp_path / "ours.c").exit_code == 2
    assert bife("export", settings, "--output", tmp_path / "other.c").exit_code == 0
    assert not (tmp_path / "other.c").exists()
    (tmp_path / "hard.set").hardlink_to(settings)
    done = bife("export", settings, "--output", tmp_path / "hard.c")
    assert "hard.set is read and would be written over" in sentence(done.stderr)
    assert load_method(tmp_path / "other.set").identity == load_method(settings).identity


def test_what_another_scip_found_says_so_after_it_is_written_too(bife, tmp_path):
    (settings := tmp_path / "ours.set").write_text("# Found with SCIP 9.2.1.\nbranching/scorefunc = q\n")
    assert bife("export", settings, "--output", tmp_path / "other.c").exit_code == 0
    assert load_method(tmp_path / "other.set").scip == "9.2.1"
    done = program("solve", FOREIGN / "lseu.mps", "--rule", tmp_path / "other.set", "--quiet")
    said = "note: other was found with SCIP 9.2.1, and this is SCIP "
    assert (done.stderr.startswith(said), done.stderr.count("\n")) == (True, 1)


def test_a_rule_is_written_as_a_c_file_but_not_over_itself_or_into_no_folder(bife, tmp_path):
    (rule := tmp_path / "mine.py").write_text(source := REFERENCE_RULES["paper_ca"].source)
    assert bife("export", rule, "--output", rule).exit_code == 2
    assert rule.read_text() == source
    nowhere = bife("export", rule, "--output", tmp_path / "none" / "rule.c")
    assert (nowhere.exit_code, "No such file" in sentence(nowhere.stderr)) == (1, True)
    done = bife("export", rule, "--output", tmp_path / "rule.c")
    assert done.exit_code == 0, done.output
    assert "SCIPincludeBranchruleBife(" in (tmp_path / "rule.c").read_text()


@pytest.mark.usefixtures("in_process", "quick_auctions")
def test_a_rule_is_scored_for_an_agent_and_for_a_person(bife, tmp_path, monkeypatch):
    monkeypatch.setenv("BIFE_HOME", str(tmp_path / "home"))
    (file := tmp_path / "ours.py").write_text(REFERENCE_RULES["paper_ca"].source)
    options = (file, "--instances", "combinatorial_auction", "--preset", "smoke")
    scored = json.loads(bife("score", *options, "--json").stdout)
    assert (scored["name"], scored["failure"], scored["rules"]) == ("ours.py", None, 1)
    assert scored["f_hf"] < 0
    shown = bife("score", *options).stdout
    assert "ours.py (g00-c00, scored before)" in shown
    assert "cost over RPB's" in shown
    listed = json.loads(bife("score", *options[1:], "--list", "--json").stdout)
    assert listed == {name: scored[name] for name in listed}
    assert listed["file"].endswith("g00-c00.py")
    line, used = bife("score", *options[1:], "--list").stdout.strip().splitlines()[1:]
    assert line.split()[:2] == ["ours.py", "g00-c00"]
    assert used.endswith(" CPU s in the solver, recording decisions and RPB included.")


LEAN = "separating/maxrounds\t=\t0\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("lean.set", LEAN),
        ("lean.SET", f"\ufeff# ours\r\n\r\n{LEAN}".replace("\n", "\r\n")),
        *(("lean.txt", f"{head}{LEAN}") for head in ("", "\ufeff# ours\n", "emphasis : default\n")),
        ("lean.json", '\ufeff{"kind": "configuration", "params": {"separating/maxrounds": 0}}'),
        *(("none.set", text) for text in ("", "# nothing")),
        ("scip.json", '{"kind": "scip", "name": "relpscost"}'),
    ],
)
def test_score_reads_a_file_as_every_command_does(bife, tmp_path, monkeypatch, name, text):
    (file := tmp_path / name).write_bytes(text.encode())
    rules = []
    monkeypatch.setattr("bife_core.run.stages.score.score", lambda *args: rules.extend(args[2]) or ())
    assert bife("score", file).exit_code == 0
    ((called, scored),) = rules
    params = {} if name.startswith(("none", "scip")) else {"separating/maxrounds": 0}
    expected = Configuration(params=params).identity
    assert (called, method_of(scored).identity, load_method(file).identity) == (name, expected, expected)


def test_score_enters_no_file_that_is_no_method(bife, tmp_path):
    (file := tmp_path / "lean.set").write_text("separating/maxrounds = 3x\n")
    assert "SCIP reads separating/maxrounds = 3x as 3" in sentence(bife("score", file).stderr)


@pytest.mark.usefixtures("in_process", "quick_auctions")
def test_an_agent_is_told_how_to_work_and_what_of(bife):
    options = ("--instances", "combinatorial_auction", "--preset", "smoke")
    told = bife("score", "--brief", *options).stdout
    assert all(text in told for text in ("--json", "What the code may use", "recorded decisions", "[24]"))
    assert not any(text in told for text in ("# How to answer", "# Its theme"))
    nothing = bife("score", "--list", "--json", *options, "--seed", "5")
    assert (nothing.exit_code, nothing.stdout) == (0, "")
    assert nothing.stderr.startswith("No rule was scored with these settings")
    assert bife("score").exit_code == 2
