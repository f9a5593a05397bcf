"""The example of `docs/adding-a-feature.md`, carried out on a copy, reaches everyone who reads the table."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bife_core.features import N_COLUMNS

ROOT = Path(__file__).parents[2]
NAME = "pseudocost_min"

SEEN_BY = """
import json, sys
from pathlib import Path
import numpy as np, pyscipopt
from bife_core import FEATURES, FeatureExtractor, compile_rule
from bife_core.decisions.recorded import Decisions, concatenate
from bife_core.features import N_COLUMNS, feature_index
from bife_core.generators.offline.priors import feature_of
from bife_core.generators.prompting import feature_description
from bife_core.scip.reading import read_model

new = N_COLUMNS - 1
drawn = np.random.default_rng(0)
concatenate([], "extended").save(Path("decisions.parquet"))
rule = "def candidate_variable_score(f):\\n    return f[{}]\\n"

class Look(pyscipopt.Branchrule):
    def branchexeclp(self, allowaddcons):
        full, part = (FeatureExtractor(self.model, frozenset(f)) for f in (range(N_COLUMNS), [new]))
        self.full, self.part = full.extract()[1], part.extract()[1]
        self.model.interruptSolve()
        return {"result": pyscipopt.SCIP_RESULT.DIDNOTRUN}

model, look = read_model(Path(sys.argv[1])), Look()
model.includeBranchrule(look, "look", "", 10_000_000, -1, 1.0)
model.optimize()
up, down = (look.full[:, feature_index(f"pseudocost_{way}")] for way in ("up", "down"))
print(json.dumps({
    "name": FEATURES[new].name,
    "prompt": [line for line in feature_description("extended").splitlines() if f"[{new}]" in line],
    "grammar": any(feature_of(drawn, "gain", offered=range(N_COLUMNS)) == new for _ in range(2000)),
    "columns": Decisions.load("decisions.parquet").columns.shape[0],
    "known": getattr(compile_rule(rule.format(new)), "features", frozenset()) == {new},
    "beyond": str(getattr(compile_rule(rule.format(new + 1)), "reason", None)),
    "extracted": look.full.shape[1],
    "right": bool(np.array_equal(look.full[:, new], np.minimum(up, down)) and look.full[:, new].any()),
    "alone": bool(np.array_equal(look.part[:, new], look.full[:, new])),
}))
"""


def carry_out(document: str, house: Path) -> list[str]:
    """Change files below `house` as the document's differences say; return the files."""
    changed = []
    for path, hunks in re.findall(r"^```diff\n--- (\S+)\n(.*?)^```", document, re.MULTILINE | re.DOTALL):
        text = (house / path).read_text(encoding="utf-8")
        for hunk in filter(None, re.split(r"^@@.*\n", hunks, flags=re.MULTILINE)):
            lines = hunk.splitlines(keepends=True)
            before, after = ("".join(line[1:] for line in lines if line[0] in kept) for kept in (" -", " +"))
            assert text.count(before) == 1, (
                f"{path} no longer holds what docs/adding-a-feature.md changes:\n{before}"
            )
            text = text.replace(before, after)
        (house / path).write_text(text, encoding="utf-8")
        changed.append(path)
    return changed


@pytest.mark.long
def test_a_feature_is_added_in_one_file_and_everyone_sees_it(tmp_path: Path, golden_dir: Path) -> None:
    shutil.copytree(ROOT / "bife_core", tmp_path / "bife_core", ignore=shutil.ignore_patterns("__pycache__"))
    document = (ROOT / "docs" / "adding-a-feature.md").read_text(encoding="utf-8")
    assert len(carry_out(document, tmp_path)) == 1
    done = subprocess.run(
        [sys.executable, "-c", SEEN_BY, str(golden_dir / "cauctions_0.mps.gz")],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path), "BIFE_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["prompt"] == [f"- variable_features[{N_COLUMNS}] {NAME}: smaller of the two estimated gains"]
    assert f"outside 0 to {N_COLUMNS}" in seen["beyond"]
    assert (seen["name"], seen["columns"], seen["extracted"]) == (NAME, N_COLUMNS + 1, N_COLUMNS + 1)
    assert {name for name, found in seen.items() if found is False} == set()
