"""Measure how well rules imitate: ``python -m bife_rivals.accuracy --instances set_covering --rule gnn.json paper_sc``.

One JSON object a rule or network. `accuracy_k` is the share of fresh expert samples, of instances drawn by another seed
than those trained with, of which a candidate of the highest strong-branching score is among the k it scores highest.
What a node costs in the solver is printed by ``python -m bench.hardness``.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace

import numpy as np

from bife_core import BifeError, Scorer, WorkerPool, collect_decisions, load_method, open_benchmark
from bife_core.extend import CollectionConfig, InstancesConfig, SolverConfig, home
from bife_rivals.graphs import Sample, Samples, accuracies, hits
from bife_rivals.networks import NativeMethod


def scores_of(method: Scorer | NativeMethod, sample: Sample) -> np.ndarray:
    """Return the scores of a sample's candidates; a network that must see the root has seen the first one recorded."""
    if isinstance(method, Scorer):
        return method.score(sample.node.features)
    seen_before = method.graph == "first" and not sample.node.first
    return method.score(sample.node, replace(sample.root, first=True) if seen_before else None)


def accuracy(method: Scorer | NativeMethod, samples: Samples) -> dict[str, float]:
    """Return the accuracy at several ranks."""
    every = map(samples.__getitem__, range(len(samples)))
    right = sum(hits(scores_of(method, sample), sample.best) for sample in every)
    return accuracies(np.asarray(right), len(samples))


def main() -> None:
    """Read the options, measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m bife_rivals.accuracy", description=__doc__)
    parser.add_argument("--instances", default="combinatorial_auction", help="a family of instances")
    parser.add_argument("--size", default="test")
    parser.add_argument("--solver", default="paper", help="'paper', 'default' or a settings file of SCIP")
    parser.add_argument("--rule", nargs="+", required=True, help="files, or names of reference rules")
    parser.add_argument("--samples", type=int, default=300, help="fresh expert samples")
    parser.add_argument("--workers", type=int, help="processes that record; by default one per core")
    options = parser.parse_args()
    fresh = {"benchmark": options.instances, "size": options.size, "seed": 1}
    n, recorded = options.samples, {"decisions_per_instance": 10, "share": 0.25, "nodes": True}
    try:
        methods = [load_method(rule) for rule in options.rule]
        benchmark = open_benchmark(InstancesConfig.checked(fresh), home() / "instances")
        solver = SolverConfig.model_validate(options.solver)
        config = CollectionConfig.checked({"decisions": n, "max_instances": n, **recorded})
    except BifeError as error:
        parser.error(str(error))
    scorers = [method for method in methods if isinstance(method, Scorer | NativeMethod)]
    if others := [method.name for method in methods if method not in scorers]:
        parser.error(f"rules and networks score candidates, and {others[0]} is neither")
    folder = home() / "rivals" / f"fresh-{options.instances}-{options.size}-{solver.label}"
    with WorkerPool(options.workers) as pool:
        files = collect_decisions(benchmark, config, folder, pool, solver=solver).nodes
    samples = Samples.of(files, options.samples)
    for method in scorers:
        facts = {"rule": method.name, "kind": method.kind, "samples": len(samples)}
        print(json.dumps(facts | accuracy(method, samples)), flush=True)


if __name__ == "__main__":
    main()
