"""A package of somebody else's, written from the pages in docs/, adds a family, a search, a generator and a method."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from textwrap import dedent

import pytest

from tests.support.plugins import EXAMPLE, install

ROOT = Path(__file__).parents[2]
PAGES = {
    "adding-a-benchmark.md": "knapsack.py",
    "adding-a-search.md": "random_search.py",
    "adding-a-generator.md": "constant.py",
    "adding-a-method.md": "largest_gain.py",
}
SMOKE = ("--preset", "smoke", "--benchmark", "knapsack", "--workers", "1")


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    found = re.findall(rf"^( *)```{language}\n(.*?)^\1```", text, re.MULTILINE | re.DOTALL)
    return [dedent(code) for _, code in found]


@pytest.mark.parametrize("page", PAGES)
def test_the_package_is_what_the_pages_show(page: str) -> None:
    shown = (EXAMPLE / "bife_example" / PAGES[page]).read_text(encoding="utf-8")
    assert shown in blocks(page, "python")
    entries = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]["entry-points"]
    (told,) = (tomllib.loads(block)["project"]["entry-points"] for block in blocks(page, "toml"))
    assert told.items() <= entries.items()


@pytest.mark.slow
def test_an_installed_package_is_searched_with_and_evaluated(tmp_path: Path) -> None:
    site, home = tmp_path / "site", tmp_path / "home"
    site.mkdir()
    install(EXAMPLE, site)
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join((str(ROOT), str(site))),
        "BIFE_HOME": str(home),
        "MLFLOW_TRACKING_URI": f"sqlite:///{home / 'mlflow.db'}",
    }

    def bife(*words: str) -> str:
        program = "from flows.cli import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", program, *words],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    chosen = ("--search", "random", "--generator", "constant")
    settings = json.loads(bife("config", "--json", *SMOKE, *chosen))
    assert settings["search"]["method"] == "random"
    bife("evolve", *SMOKE, *chosen, "--set", "search.samples=2", "--set", "search.initial=2")
    (rule,) = (home / "runs").rglob("best_rule.py")
    assert "variable_features[24]" in rule.read_text()

    bife(
        "evaluate", *SMOKE, "--method", "largest_gain", "--rule", str(rule), "--set", "evaluation.instances=1"
    )
    (record,) = (home / "runs").rglob("evaluation.json")
    summary = json.loads(record.read_text())
    assert set(summary["methods"]) == {"best_rule", "largest_gain", "relpscost"}
    assert summary["methods"]["largest_gain"]["kind"] == "largest_gain"
    calls = {row["method"]: row["calls"] for row in summary["rows"]}
    assert calls["largest_gain"] > 0
    assert calls["best_rule"] > 0

    form = "from bife_core.config import PipelineConfig as P; import json; print(json.dumps(P.model_json_schema()))"
    printed = subprocess.run([sys.executable, "-c", form], env=environment, capture_output=True, check=True)
    offered = json.loads(printed.stdout)["$defs"]
    assert "knapsack" in offered["InstancesConfig"]["properties"]["benchmark"]["enum"]
    assert "random" in offered["SearchConfig"]["properties"]["method"]["enum"]
    assert "constant" in offered["GeneratorConfig"]["properties"]["kind"]["enum"]
    assert "largest_gain" in offered["EvaluationConfig"]["properties"]["baseline"]["enum"]
