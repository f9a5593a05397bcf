"""Look at a model file before anything is spent on it: can SCIP read it, and can one branch on it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from bife_core.errors import InstanceError
from bife_core.scip.reading import read_model

_DISCRETE_HANDLERS = frozenset({"SOS1", "SOS2", "bounddisjunction", "cardinality", "disjunction"})
"""Constraints SCIP branches on although no variable is integral; semicontinuous variables become such."""


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What screening found out about a usable model file.

    Attributes
    ----------
    digest : str
        First 16 hexadecimal digits of the SHA-256 of the uncompressed file.
    n_vars, n_integer, n_cons : int
        Variables, binary and integer ones among them, and constraints, as read. Without integer variables the
        model is discrete through its constraints (SOS, semicontinuous bounds) and no branching rule is asked.
    """

    digest: str
    n_vars: int
    n_integer: int
    n_cons: int


def screen(path: Path) -> ModelFacts:
    """Read a model file and return what it holds, or say in one sentence why it cannot be used.

    Parameters
    ----------
    path : Path
        A file of MPS, LP or CIP format, plain or gzipped.

    Returns
    -------
    ModelFacts
        Size and digest of the model.

    Raises
    ------
    InstanceError
        If the file is missing, is not a model file, is damaged, or gives nothing to branch on.
    """
    digest = hashlib.sha256()
    model = read_model(path, digest.update)
    n_integer = model.getNBinVars() + model.getNIntVars()
    if model.getNVars() == 0:
        raise InstanceError(f"{path.name} describes no variables.")
    if n_integer == 0 and not any(c.getConshdlrName() in _DISCRETE_HANDLERS for c in model.getConss()):
        raise InstanceError(f"{path.name} has no integer variables, so there is nothing to branch on.")
    return ModelFacts(digest.hexdigest()[:16], model.getNVars(), n_integer, model.getNConss())
