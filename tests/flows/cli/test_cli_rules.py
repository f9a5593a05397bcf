import uuid

import pytest

from bife_core.rules import REFERENCE_RULES
from flows.cli.completion import auto_or_rule_references, methods, rule_references
from tasks.tracking.provenance import user
from tests.flows.cli.conftest import sentence
from tests.support.challenging import made_champion


def test_every_reference_rule_is_listed(bife):
    shown = bife("rules", "list").stdout
    assert all(name in shown for name in REFERENCE_RULES)


def test_a_registered_rule_is_listed_with_what_it_was_judged_by(bife):
    name = f"bife-test-{uuid.uuid4().hex[:8]}"
    made_champion(name, 0, metric="gap")
    (line,) = (line for line in bife("rules", "list").stdout.splitlines() if name in line)
    # Columns are as wide as what other tests of this session registered makes them.
    assert "final gap 0.8 0.7 to 0.9" in " ".join(line.split())


def test_listing_makes_no_store_where_there_is_none(program, tmp_path):
    done = program("rules", "list", home=tmp_path / "home")
    assert done.returncode == 0
    assert "No rule has been registered yet" in done.stdout
    assert not (tmp_path / "home" / "mlflow").exists()


@pytest.mark.long  # the store's own sentence: test_tracking_store.py
def test_a_registry_that_cannot_be_reached_is_one_sentence(program):
    done = program(
        "rules", "list", MLFLOW_TRACKING_URI="http://127.0.0.1:9", MLFLOW_HTTP_REQUEST_MAX_RETRIES="0"
    )
    assert done.returncode == 1
    assert "paper_ca" in done.stdout
    assert "http://127.0.0.1:9" in sentence(done.stderr)


def test_a_rule_is_shown_with_all_that_is_known_of_it(bife):
    shown = bife("rules", "show", "paper_ca").stdout
    rule = REFERENCE_RULES["paper_ca"]
    assert "def candidate_variable_score" in shown
    assert rule.origin in shown
    assert "ast nodes" in shown
    for name in ("slack", "pseudocost_up", "pseudocost_down", "active_coef_weight4_sum"):
        assert f"  {name}" in shown


def test_the_source_alone_is_a_rule_again(bife, tmp_path):
    file = tmp_path / "copy.py"
    file.write_text(bife("rules", "show", "paper_sc", "--source").stdout)
    assert file.read_text() == REFERENCE_RULES["paper_sc"].source.rstrip("\n") + "\n"
    assert bife("rules", "show", file).exit_code == 0


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        ("no_such_rule", "There is no rule 'no_such_rule'"),
        ("no/such/file.py", "There is no file no/such/file.py"),
        ("models:/bife-nothing/1", "The registry holds no models:/bife-nothing/1"),
        ("models:bife-nothing", "names no registered rule"),
        ("ftp://rule", "'ftp://rule' names no method; expected a Python file"),
    ],
)
def test_rules_that_cannot_be_shown_are_one_sentence(bife, reference, text):
    result = bife("rules", "show", reference)
    assert result.exit_code == 1
    assert text in sentence(result.stderr)


def test_completion_offers_rules_files_and_branchers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "mine.py").touch()
    (tmp_path / "sub" / "notes.txt").touch()
    (tmp_path / "paper_of_mine.py").touch()
    assert [name for name, _ in rule_references("paper_")] == [
        "paper_ca",
        "paper_cfl",
        "paper_mis",
        "paper_sc",
        "paper_of_mine.py",
    ]
    assert [name for name, _ in rule_references("su")] == ["sub/"]
    assert [name for name, _ in rule_references("sub/")] == ["sub/mine.py"]
    assert [name for name, _ in rule_references(f"{tmp_path}/sub/m")] == [f"{tmp_path}/sub/mine.py"]
    assert [name for name, _ in methods("relp")] == ["relpscost"]
    assert [name for name, _ in auto_or_rule_references("a")][:2] == ["auto", "active_rows"]
    assert [name for name, _ in auto_or_rule_references("paper_c")] == ["paper_ca", "paper_cfl"]


@pytest.fixture
def nameless(monkeypatch):
    """As in a container that runs as a number which has no login name."""

    def unknown():
        raise KeyError("getpwuid(): uid not found: 12345")

    user.cache_clear()
    monkeypatch.setattr("getpass.getuser", unknown)
    yield
    user.cache_clear()


def test_without_a_champion_there_is_nothing_to_roll_back(bife, nameless):
    done = bife("rules", "rollback", "bife-none", "--reason", "slow")
    assert done.exit_code == 1
    assert sentence(done.stderr).startswith("bife-none has no champion to roll back")
