"""Whether exported rules branch as the native callback does, and what time they take.

One JSON object a model: {family, model, rule, same, nodes, cpu_s, exported_cpu_s}; `same` says whether nodes, LP
iterations and bounds are equal. `--models` takes files of yours besides the families.
"""

from __future__ import annotations

import ctypes
import json
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyscipopt

from bench.options import instances_of, parse
from bife_core.export import INCLUDE_FUNCTION, build, export_c
from bife_core.rules import load_rule
from bife_core.scip.branching import attach
from bife_core.scip.libscip import check, library, scip_address
from bife_core.scip.reading import read_model
from bife_core.scip.solving import SolveSettings, apply


def exported(rule: str, folder: Path) -> Callable[[pyscipopt.Model], None]:
    source = folder / f"{Path(rule).stem}.c"
    source.write_text(export_c(rule), encoding="utf-8")
    build(source, source.with_suffix(".so"))
    ctypes.CDLL(library().path, mode=ctypes.RTLD_GLOBAL)
    include = getattr(ctypes.CDLL(str(source.with_suffix(".so"))), INCLUDE_FUNCTION)
    include.argtypes = [ctypes.c_void_p]

    def put_in_charge(model: pyscipopt.Model) -> None:
        check(include(scip_address(model)), "include the exported rule")
        model.setParam("branching/bife/maxshare", 0.0)

    return put_in_charge


def solved(path: Path, settings: SolveSettings, put_in_charge: Callable[[pyscipopt.Model], Any]) -> Any:
    model = read_model(path)
    apply(settings, model)
    put_in_charge(model)
    started = time.process_time()
    model.optimize()
    taken = time.process_time() - started
    tree = (model.getNTotalNodes(), model.getNLPIterations(), model.getDualbound(), model.getPrimalbound())
    return tree, taken


def main() -> None:
    options = parse(__doc__, instances=10, rules=["paper_ca"], models=[], node_limit=100)
    settings = SolveSettings(node_limit=options.node_limit)
    models = [(family, path) for family in options.families for path in instances_of(family, options)]
    models += [("own", Path(path)) for path in options.models]
    with tempfile.TemporaryDirectory() as folder:
        for name in options.rules:
            rule, put_in_charge = load_rule(name), exported(name, Path(folder))
            for family, path in models:
                native, cpu_s = solved(path, settings, partial(attach, rule=rule))
                other, exported_cpu_s = solved(path, settings, put_in_charge)
                line = {"family": family, "model": path.name, "rule": rule.name, "same": native == other}
                print(
                    json.dumps(
                        {
                            **line,
                            "nodes": native[0],
                            "cpu_s": round(cpu_s, 3),
                            "exported_cpu_s": round(exported_cpu_s, 3),
                        }
                    ),
                    flush=True,
                )


if __name__ == "__main__":
    main()
