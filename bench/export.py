"""Whether exported rules branch as the native callback does, and what time they take.

One JSON object a model: {family, model, rule, same, nodes, cpu_s, exported_cpu_s}; `same`: equal nodes, LP iterations
and bounds. `--models` are files beside the families; the rule `all` reads every feature.

    python -m bench.export --python OTHER --rules paper_ca all --node-limit 20

has them branch in the SCIP of another Python (PySCIPOpt and NumPy suffice), beside features and scores computed there
without the C file: {family, model, rule, scip, branchings, other_choices, values, values_off, same}. `other_choices`
counts branchings on a candidate of a lower score, `values_off` features that differ, and `same` says whether showing
features changed no branching.
"""

from __future__ import annotations

import ctypes
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyscipopt

from bench import emit, instances_of, model_of, parse
from bife_core import FEATURES, attach, load_rule
from bife_core.extend import check, scip_address
from bife_core.solver.export import INCLUDE_FUNCTION, export_c


def rule_of_all(features: int) -> str:
    """Return a rule that reads so many features, and whose choice changes with the last digits of any."""
    return f"""\
import numpy as np
def candidate_variable_score(f):
    total = 0.0
    for i in range({features}):
        total += np.sin(f[i] * (1.0 + i))
    return total
"""


SHOW_FEATURES = """
int show_features(SCIP* scip, double* out)
{
   SCIP_BRANCHRULEDATA* data = SCIPbranchruleGetData(SCIPfindBranchrule(scip, BIFE_NAME));
   SCIP_VAR** candidates;
   SCIP_Real* solution;
   int n;
   if( SCIPgetLPBranchCands(scip, &candidates, &solution, NULL, &n, NULL, NULL) != SCIP_OKAY )
      return -1;
   if( !begin_branching(scip, data, n) )
      return -1;
   for( int c = 0; c < n; ++c )
      if( !features_of(scip, data, candidates[c], solution[c], out + N_FEATURES * c) )
         return -1;
   return n;
}
"""
"""What an exported file lacks to show the features of all candidates."""


def compiler() -> list[str]:
    command = shlex.split(os.environ.get("CC", "cc"))
    return command if shutil.which(command[0]) else []


def build(source: Path, library: Path) -> None:
    """Compile the C file of a rule without SCIP's headers; its functions are those of the program that loads it."""
    flags = ["-std=c99", "-O2", "-fPIC", "-shared", "-ffp-contract=off", "-DBIFE_NO_SCIP_HEADERS"]
    unresolved = ["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else []
    subprocess.run([*compiler(), *flags, *unresolved, str(source), "-o", str(library), "-lm"], check=True)


def exported(rule: str, folder: Path) -> Callable[[pyscipopt.Model], None]:
    source = folder / f"{Path(rule).stem}.c"
    source.write_text(export_c(rule), encoding="utf-8")
    build(source, source.with_suffix(".so"))
    ctypes.CDLL(pyscipopt.scip.__file__, mode=ctypes.RTLD_GLOBAL)
    include = getattr(ctypes.CDLL(str(source.with_suffix(".so"))), INCLUDE_FUNCTION)
    include.argtypes = [ctypes.c_void_p]

    def put_in_charge(model: pyscipopt.Model) -> None:
        check(include(scip_address(model)), "include the exported rule")
        model.setParam("branching/bife/maxshare", 0.0)

    return put_in_charge


def solved(path: Path, node_limit: int, put_in_charge: Callable[[pyscipopt.Model], Any]) -> Any:
    model = model_of(path, {"limits/nodes": node_limit})
    put_in_charge(model)
    started = time.process_time()
    model.optimize()
    taken = time.process_time() - started
    tree = (model.getNTotalNodes(), model.getNLPIterations(), model.getDualbound(), model.getPrimalbound())
    return tree, taken


def elsewhere(python: str, rule: str, models: list[tuple[str, Path]], folder: Path, node_limit: int) -> None:
    """Have another Python's SCIP branch by an exported rule, and print what was seen of it."""
    loaded = load_rule(rule)
    source, library = folder / "shown.c", folder / "shown.so"
    source.write_text(export_c(rule) + SHOW_FEATURES, encoding="utf-8")
    build(source, library)
    for k, (_, path) in enumerate(models):
        # As SCIP writes it: up to 9.2.1 SCIP refuses free MPS with lines as short as those of some families.
        model_of(path).writeProblem(str(folder / f"{k}.mps"), verbose=False)
    params = {"separating/maxrounds": 0, "presolving/maxrestarts": 0, "limits/nodes": node_limit}
    request: dict[str, Any] = {"name": loaded.name, "rule": loaded.source, "library": str(library)}
    request |= {"include": INCLUDE_FUNCTION, "params": params}
    request["models"] = [(name, path.name, str(folder / f"{k}.mps")) for k, (name, path) in enumerate(models)]
    script = Path(__file__).with_name("other_scip.py")
    subprocess.run([python, "-I", str(script)], input=json.dumps(request), text=True, check=True)


def main() -> None:
    options = parse(__doc__, instances=10, rules=["paper_ca"], models=[], node_limit=100, python="")
    models = [(family, path) for family in options.families for path in instances_of(family, options)]
    models += [("own", Path(path)) for path in options.models]
    with tempfile.TemporaryDirectory() as folder:
        every = Path(folder) / "all.py"
        every.write_text(rule_of_all(len(FEATURES)), encoding="utf-8")
        for name in (str(every) if name == "all" else name for name in options.rules):
            if options.python:
                elsewhere(options.python, name, models, Path(folder), options.node_limit)
                continue
            rule, put_in_charge = load_rule(name), exported(name, Path(folder))
            for family, path in models:
                native, cpu_s = solved(path, options.node_limit, partial(attach, rule=rule))
                other, exported_cpu_s = solved(path, options.node_limit, put_in_charge)
                line = {"family": family, "model": path.name, "rule": rule.name, "same": native == other}
                seconds = {"cpu_s": round(cpu_s, 3), "exported_cpu_s": round(exported_cpu_s, 3)}
                emit(line | {"nodes": native[0]} | seconds)


if __name__ == "__main__":
    main()
