"""Episodes of tMDP: solves in which candidates are drawn from the softmax of the graph network's scores.

They run in workers, without JAX. A worker writes what an episode was like; `returns` says what its branchings led to.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pyscipopt
from pydantic import Field
from safetensors.numpy import load, save

from bife_core import BifeError, BranchingStats, FeatureExtractor, Guard
from bife_core.extend import PLUGIN_NAME, LpBranchrule, Node, put_in_charge, solve_job, write_whole
from bife_rivals.networks import GnnMethod

Credit = Literal["tree", "temporal"]

SOLVE_SAMPLING: Final = "bife_rivals.tmdp_policy:solve_sampling"
"""The call of a worker that plays an episode."""

_ARRAYS: Final = ("candidates", "variables", "rows", "edge_starts", "edge_variables", "edge_values")

_TOLERANCE: Final = 1e-5
"""Relative distance from the optimum that a solution may have, since it is known with SCIP's tolerances."""


def returns(
    parents: npt.NDArray[np.int64], before: npt.NDArray[np.int64], total: int, credit: Credit
) -> npt.NDArray[np.float64]:
    """Return what the branchings of an episode led to, minus a number of nodes.

    Branching k is on a node that branching ``parents[k]`` made, an earlier one or -1, when SCIP had processed
    ``before[k]`` of `total` nodes. 'tree' counts the node and both children of every branching in its subtree,
    'temporal' all nodes processed later.
    """
    if credit == "temporal":
        return (before - total).astype(np.float64)
    children = np.full(len(parents), 2.0)
    for k in range(len(parents) - 1, -1, -1):
        if parents[k] >= 0:
            children[parents[k]] += children[k]
    return -1.0 - children


class Episode(NamedTuple):
    """The branchings of a solve, and the nodes of the `kept` ones with the positions of the candidates `taken`."""

    parents: npt.NDArray[np.int64]
    before: npt.NDArray[np.int64]
    kept: npt.NDArray[np.int64]
    taken: npt.NDArray[np.int64]
    nodes: list[Node]

    def save(self, path: Path) -> None:
        """Write it at once or not at all, in single precision."""
        arrays = {name: np.asarray(getattr(self, name), dtype=np.int64) for name in self._fields[:-1]}
        for number, node in enumerate(self.nodes):
            for name in _ARRAYS:
                array = getattr(node, name)
                kind = np.float32 if array.dtype.kind == "f" else np.int32
                arrays[f"{number}.{name}"] = np.ascontiguousarray(array, dtype=kind)
        write_whole(path, save(arrays))

    @classmethod
    def load(cls, path: Path) -> Episode:
        """Read what `save` wrote; features, depth and `first`, which the graph network does not see, are left out."""
        arrays = load(path.read_bytes())
        nodes = []
        for number in range(len(arrays["kept"])):
            graph: dict[str, Any] = {name: arrays[f"{number}.{name}"] for name in _ARRAYS}
            features = np.empty((len(graph["candidates"]), 0))
            nodes.append(Node(**graph, features=features, first=False, depth=0))
        return cls(**{name: arrays[name] for name in cls._fields[:-1]}, nodes=nodes)


class SamplingPolicy(GnnMethod):
    """The graph network as a policy that is sampled from; what an episode was like is written to `file`."""

    kind: Literal["tmdp_policy"] = "tmdp_policy"  # type: ignore[assignment]
    name: str = "tmdp_policy"
    seed: tuple[int, ...] = Field(description="Seed of the candidates that are drawn.")
    file: Path = Field(description="Where the `Episode` is written.")
    share: float = Field(1.0, ge=0, le=1, description="Share of the branchings whose nodes are kept.")
    steps: int = Field(50_000, ge=1, description="Branchings after which the solve ends, at its node limit.")
    optimum: float | None = Field(None, description="No solution worse than this is accepted.")

    def attach(self, model: pyscipopt.Model, guard: bool | Guard = False) -> BranchingStats:
        """Draw the candidate whenever an LP solution is branched on."""
        if self.optimum is not None:  # a limit at the optimum itself would refuse it
            worse = -1.0 if model.getObjectiveSense() == "maximize" else 1.0
            model.setObjlimit(self.optimum + worse * _TOLERANCE * max(1.0, abs(self.optimum)))
        _Sampling(self).include(model, PLUGIN_NAME, self.name)
        put_in_charge(model, PLUGIN_NAME)
        return BranchingStats()


def solve_sampling(**job: Any) -> dict[str, Any]:
    """Solve under a policy; what workers are sent, since no text may name a method that writes a file."""
    return solve_job(**job | {"method": SamplingPolicy.model_validate(job["method"])})


class _Sampling(LpBranchrule):
    def __init__(self, policy: SamplingPolicy) -> None:
        self.policy = policy
        self.rng = np.random.default_rng(policy.seed)
        self.episode: tuple[list[Any], ...] = ([], [], [], [], [])

    def branchinitsol(self) -> None:
        self.extractor = FeatureExtractor(self.solved, frozenset())
        self.places: dict[int, int] = {}  # SCIP counts nodes anew after a restart

    def branchexitsol(self) -> None:
        Episode(*self.episode).save(self.policy.file)  # type: ignore[arg-type]

    def branchexeclp(self, allowaddcons: bool) -> dict[str, int]:
        model, (parents, before, kept, taken, nodes) = self.solved, self.episode
        if len(parents) == self.policy.steps:
            model.setParam("limits/nodes", 1)
            return {"result": pyscipopt.SCIP_RESULT.DIDNOTRUN}
        try:
            shown = self.extractor.observe()
        except BifeError:  # no LP solution to branch on, or no memory
            return {"result": pyscipopt.SCIP_RESULT.DIDNOTRUN}
        variables, _, _, _, n, _ = model.getLPBranchCands()
        # The largest score with Gumbel noise is a draw from the softmax of the scores.
        drawn = int(np.argmax(self.policy.score(shown[:n]) + self.rng.gumbel(size=n)))
        if self.rng.random() < self.policy.share:
            kept.append(len(parents))
            taken.append(drawn)
            nodes.append(shown[:n])
        current = model.getCurrentNode()
        above = current.getParent()
        while above is not None and above.getNumber() not in self.places:  # branched on by another rule
            above = above.getParent()
        self.places[current.getNumber()] = len(parents)
        parents.append(-1 if above is None else self.places[above.getNumber()])
        before.append(model.getNTotalNodes())
        model.branchVar(variables[drawn])
        return {"result": pyscipopt.SCIP_RESULT.BRANCHED}
