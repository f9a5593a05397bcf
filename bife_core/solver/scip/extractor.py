"""The features of the branching candidates, for use from Python."""

from __future__ import annotations

import weakref

import numpy as np
import numpy.typing as npt
import pyscipopt

from bife_core.base.arguments import checked
from bife_core.base.errors import SolverError
from bife_core.solver.scip.compiled import layout
from bife_core.solver.scip.compiled.masks import mask_of
from bife_core.solver.scip.libscip import scip_address
from bife_core.solver.scip.node import Node, features_at
from bife_core.solver.units import FEATURES


class FeatureExtractor:
    """Extract the features of the present branching candidates.

    Parameters
    ----------
    model : pyscipopt.Model
        The model being solved; call `reset` before it is solved a second time.
    features : frozenset of int or None
        Columns to compute, None for all; others are 0.

    Examples
    --------
    >>> class MyRule(pyscipopt.Branchrule):
    ...     def branchinitsol(self):
    ...         self.extractor = FeatureExtractor(self.model)
    ...
    ...     def branchexeclp(self, allowaddcons):
    ...         probindex, X = self.extractor.extract()
    """

    @checked
    def __init__(self, model: pyscipopt.Model, features: frozenset[int] | None = None) -> None:
        self._model = model
        self._mask = mask_of(features)
        self._features = features
        self._state = layout.new_state()
        weakref.finalize(self, layout.free_state, self._state)

    def reset(self) -> None:
        """Forget the static features and rows of an earlier solve."""
        FEATURES.call("reset", self._state.ctypes.data)

    def extract(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]:
        """Return the candidates, in the order of `Model.getLPBranchCands`, and their features.

        Returns
        -------
        probindex : (n,) int32
            Positions among the variables of the transformed problem.
        X : (n, n_features) float64
            Columns are those of `FEATURES`.

        Raises
        ------
        SolverError
            If the model is not at a node whose LP was solved, or no memory is left.
        """
        candidates, features = self._extract()
        probindex = np.empty(len(features), dtype=np.int32)
        FEATURES.call("probindices", candidates, len(probindex), probindex.ctypes.data)
        return probindex, features

    def observe(self, observes: int = layout.GRAPH_ALWAYS) -> Node:
        """Return the node being branched on with its graph; `observes` is a constant of `layout`."""
        candidates, features = self._extract()
        scip = scip_address(self._model)
        address = FEATURES.call("observe", scip, self._state.ctypes.data, candidates, len(features), observes)
        if address == 0:
            raise SolverError("The system has no memory left for the graph of the node.")
        return Node.at(address, features)

    def _extract(self) -> tuple[int, npt.NDArray[np.float64]]:
        if self._model.getStage() != pyscipopt.SCIP_STAGE.SOLVING:
            raise SolverError("Features exist only while SCIP is branching: call extract() in branchexeclp.")
        n = FEATURES.call("extract", scip_address(self._model), self._state.ctypes.data, self._mask)
        if n == layout.NO_MEMORY:
            raise SolverError("The system has no memory left for the feature matrix.")
        if n == layout.NO_LP:
            raise SolverError("The node has no LP solved to optimality, so there is nothing to branch on.")
        return int(self._state[layout.SCRATCH]), features_at(self._state, n, self._features)
