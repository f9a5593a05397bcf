"""Measure networks: ``python -m bife_rivals.measuring --instances set_covering --rule gnn.json``.

One JSON object a network. `accuracy_k` is the share of fresh expert samples, of instances drawn by another seed than
those trained with, of which a candidate of the highest strong-branching score is among the k it scores highest.
`us_node` are CPU microseconds of its forward pass at a node of test instances, `us_features` those of what it sees,
and `candidates` their mean number. Without ``--rule``, untrained networks are timed.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from bife_core import InProcess, Method, collect_decisions, load_method, open_benchmark, solve
from bife_core.config import CollectionConfig, InstancesConfig
from bife_core.places import home
from bife_core.scip.solver import SolverConfig
from bife_rivals.graphs import RANKS, Samples, accuracies, hits
from bife_rivals.networks import FilmMethod, GnnMethod, NativeMethod
from bife_rivals.weights import as_text


def untrained() -> list[Method]:
    """Return networks of random weights, which take as long as trained ones."""
    rng = np.random.default_rng(0)
    return [
        kind(weights=as_text({name: rng.normal(size=shape) for name, shape in kind.shapes.items()}))
        for kind in (GnnMethod, FilmMethod)
    ]


def accuracy(method: NativeMethod, samples: Samples) -> dict[str, float]:
    """Return the accuracy at several ranks."""
    right = np.zeros(len(RANKS), np.int64)
    for k in range(len(samples)):
        sample = samples[k]
        # The root itself may not have been recorded.
        first = (
            replace(sample.root, first=True) if method.graph == "first" and not sample.node.first else None
        )
        right += hits(method.score(sample.node, first), sample.best)
    return accuracies(right, max(1, len(samples)))


def main() -> None:
    """Read the options, measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m bife_rivals.measuring", description=__doc__)
    parser.add_argument("--instances", default="combinatorial_auction", help="a family of instances")
    parser.add_argument("--size", default="test")
    parser.add_argument("--rule", action="append", default=[], help="the file of a network; may be repeated")
    parser.add_argument("--samples", type=int, default=100, help="expert samples for accuracy")
    parser.add_argument("--solves", type=int, default=3, help="test instances that are solved for times")
    parser.add_argument("--nodes", type=int, default=200, help="nodes of a solve at most")
    options = parser.parse_args()
    fresh = InstancesConfig(benchmark=options.instances, size=options.size, seed=1)
    benchmark, solver = open_benchmark(fresh, home() / "instances"), SolverConfig.model_validate("paper")
    paths = [one.path for one in benchmark.instances("test", options.solves)]
    for method in [load_method(Path(file)) for file in options.rule] or untrained():
        found: dict[str, object] = {
            "network": method.name,
            "kind": method.kind,
            "instances": options.instances,
        }
        if options.rule and isinstance(method, NativeMethod):
            config = CollectionConfig(
                decisions=options.samples, decisions_per_instance=10, share=0.25, nodes=True
            )
            folder = home() / "rivals" / f"fresh-{options.instances}-{options.size}"
            files = collect_decisions(benchmark, config, folder, InProcess(), solver=solver).nodes
            found |= accuracy(method, Samples.of(files, options.samples))
        solved = [solve(path, method, solver=solver, node_limit=options.nodes) for path in paths]
        calls = max(1, sum(result.calls for result in solved))
        found |= {
            "nodes": sum(result.nodes for result in solved),
            "us_node": round(1e6 * sum(result.rule_s for result in solved) / calls, 1),
            "us_features": round(1e6 * sum(result.feature_s for result in solved) / calls, 1),
            "candidates": round(sum(result.candidates for result in solved) / calls, 1),
            "fallbacks": sum(result.fallbacks for result in solved),
        }
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
