"""Ecole's own `Khalil2016` behind the interface of `FeatureExtractor`, where the optional Ecole package imports."""

from __future__ import annotations

import importlib
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyscipopt

from bife_core.errors import ConfigError
from bife_core.scip.extractor import FeatureExtractor

INSTALL: Final = "conda install -c conda-forge ecole"

SLIPS = frozenset({9, 10, 14, 15, 17, 51, 57, 63, 69})
"""Columns in which Ecole's code differs from the features' definition (`docs/features.md`)."""


def import_ecole() -> Any:
    """Return the module ``ecole``.

    Raises
    ------
    ConfigError
        If it cannot be imported.
    """
    try:
        return importlib.import_module("ecole")
    except ImportError as error:
        raise ConfigError(f"Ecole cannot be imported ({error}); it is optional: `{INSTALL}`.") from error


class EcoleExtractor:
    """Extract features with Ecole, to compare with ours.

    Parameters
    ----------
    model : pyscipopt.Model
        The model that is being solved, not yet branched on.

    Raises
    ------
    ConfigError
        If Ecole cannot be imported.
    """

    def __init__(self, model: pyscipopt.Model) -> None:
        ecole = import_ecole()
        self._model: Any = ecole.scip.Model.from_pyscipopt(model)
        self._observation: Any = ecole.observation.Khalil2016(pseudo_candidates=False)
        self._observation.before_reset(self._model)
        self._candidates = FeatureExtractor(model, frozenset())

    def extract(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]:
        """Return what `FeatureExtractor.extract` returns, with Ecole's values."""
        observation = self._observation.extract(self._model, False)
        probindex, _ = self._candidates.extract()
        return probindex, np.asarray(observation.features, dtype=np.float64)[probindex]
