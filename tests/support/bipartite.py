"""The bipartite graph of a node, computed slowly from the definitions, by PySCIPOpt's own methods alone."""

import math

import numpy as np
from pyscipopt import SCIP_IMPLINTTYPE

TYPES = {"BINARY": 0, "INTEGER": 1, "IMPLINT": 2, "CONTINUOUS": 3}
BASIS = {"lower": 0, "basic": 1, "upper": 2, "zero": 3}


def variable_features(model, col, norm):
    variable = col.getVar()
    implied = variable.getImplType() != SCIP_IMPLINTTYPE.NONE
    kind = 2 if implied else TYPES[variable.vtype()]
    value, lower, upper = col.getPrimsol(), col.getLb(), col.getUb()
    has_lower, has_upper = not model.isInfinity(-lower), not model.isInfinity(upper)
    best = model.getBestSol() if model.getNSols() else None
    return [
        *(float(kind == one) for one in range(4)),
        col.getObjCoeff() / norm,
        float(has_lower),
        float(has_upper),
        float(has_lower and model.isEQ(value, lower)),
        float(has_upper and model.isEQ(value, upper)),
        0.0 if kind == 3 else model.feasFrac(value),
        *(float(BASIS[col.getBasisStatus()] == one) for one in range(4)),
        model.getColRedCost(col) / norm,
        col.getAge() / (model.getNLPs() + 5),
        value,
        0.0 if best is None else model.getSolVal(best, variable),
        0.0 if best is None else variable.getAvgSol(),
    ]


def row_features(model, row, side, sign, norm):
    length = row.getNorm() or 1.0
    product = sum(v * c.getObjCoeff() for c, v in zip(row.getCols(), row.getVals(), strict=True))
    return [
        sign * product / (length * norm),
        sign * (side - row.getConstant()) / length,
        float(model.isEQ(model.getRowLPActivity(row), side)),
        row.getAge() / (model.getNLPs() + 5),
        sign * row.getDualsol() / (length * norm),
    ]


def slow_graph(model):
    """Return variables, rows, and edges as triples of row, variable and value."""
    cols = model.getLPColsData()
    norm = math.sqrt(sum(col.getObjCoeff() ** 2 for col in cols)) or 1.0
    rows, edges = [], []
    for row in model.getLPRowsData():
        for side, sign in ((row.getLhs(), -1.0), (row.getRhs(), 1.0)):
            if model.isInfinity(abs(side)):
                continue
            for col, value in zip(row.getCols(), row.getVals(), strict=True):
                if col.getLPPos() >= 0:
                    edges.append((len(rows), col.getLPPos(), sign * value / (row.getNorm() or 1.0)))
            rows.append(row_features(model, row, side, sign, norm))
    variables = np.array([variable_features(model, col, norm) for col in cols])
    return {"variables": variables, "rows": np.array(rows), "edges": np.array(edges)}
