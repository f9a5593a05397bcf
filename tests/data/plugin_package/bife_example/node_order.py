"""Node selection: which open node SCIP processes next."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyscipopt
from pyscipopt.scip import Nodesel

from bife_core import CompiledRule
from bife_core.extend import SIGNED, Component, Group

TREE = Group("tree", cost="candidate", role="tree")
BOUND = Group("bound", cost="candidate", role="bound")


class ByRule(Nodesel):
    """Takes the open node of the highest score; a rule may give NaN, which ranks last."""

    def __init__(self, rule: CompiledRule) -> None:
        self.rule = rule

    def nodeselect(self) -> dict[str, Any]:
        nodes = [node for group in self.model.getOpenNodes() for node in group]
        if not nodes:
            return {}
        X = [[node.getDepth(), node.getLowerbound(), node.getEstimate()] for node in nodes]
        scores = np.nan_to_num(self.rule.score(np.array(X)), nan=-np.inf)
        return {"selnode": nodes[int(np.argmax(scores))]}

    def nodecomp(self, node1: Any, node2: Any) -> int:
        return int(np.sign(node1.getLowerbound() - node2.getLowerbound()))


def attach(model: pyscipopt.Model, rule: CompiledRule) -> None:
    model.includeNodesel(ByRule(rule), rule.name, "the highest score first", 1_000_000, 1_000_000)


NODE_ORDER = Component(
    name="node_order",
    function="node_score",
    argument="node",
    features=(
        *TREE.features((0, "depth", "depth of the node in the tree")),
        *BOUND.features(
            (1, "lower_bound", "dual bound of the node"),
            (2, "estimate", "estimated objective of the best solution below the node"),
            low=SIGNED,
        ),
    ),
    hook="bife_example.node_order:attach",
    baseline="def node_score(node):\n    return -node[2]\n",
    about="After each node the solver takes another open one, that of the highest score; it scores all of them anew.",
)
