"""Models as SCIP reads their files, compared number by number with what was written."""

from types import SimpleNamespace

import numpy as np
from pyscipopt import Model
from scipy.sparse import csr_array

INFINITE = 1e20


def read_by_scip(path):
    """Return the model in a file."""
    model = Model()
    model.hideOutput()
    model.readProblem(str(path))
    return model


def arrays(model):
    """Return the columns and rows of a model as arrays, without coefficients that are zero."""
    names, lower, upper, cost, integer = zip(*model.variables, strict=True)
    row_names, columns, coefficients, low, high = zip(*model.constraints, strict=True)
    starts = np.cumsum([0, *map(len, columns)])
    entries = (np.concatenate(coefficients), np.concatenate(columns), starts)
    rows = csr_array(entries, shape=(len(row_names), len(names)))
    rows.eliminate_zeros()
    numbers = {"objective": cost, "lower": lower, "upper": upper, "row_lower": low, "row_upper": high}
    found = {name: np.array(values) for name, values in numbers.items()}
    about = {"name": model.name, "maximise": model.maximise, "column_names": names, "row_names": row_names}
    return SimpleNamespace(**found, **about, integer=np.array(integer), rows=rows)


def assert_same(model, drawn):
    """Check that SCIP read the very names and numbers that were drawn."""
    data = arrays(drawn)
    assert model.getObjectiveSense() == ("maximize" if data.maximise else "minimize")
    found = {
        v.name: (v.getObj(), v.getLbOriginal(), v.getUbOriginal(), v.vtype() != "CONTINUOUS")
        for v in model.getVars()
    }
    bounds = np.clip([data.lower, data.upper], -INFINITE, INFINITE)
    columns = zip(data.objective, *bounds, data.integer, strict=True)
    assert found == dict(zip(data.column_names, columns, strict=True))
    assert [row.name for row in model.getConss()] == list(data.row_names)
    sides = np.clip([data.row_lower, data.row_upper], -INFINITE, INFINITE).T
    for i, (row, (low, high)) in enumerate(zip(model.getConss(), sides, strict=True)):
        part = data.rows[[i]].tocoo()
        expected = {data.column_names[j]: v for j, v in zip(part.coords[1], part.data, strict=True)}
        assert model.getValsLinear(row) == expected
        # A range is written as a difference, which rounds.
        is_range = abs(low) < INFINITE and abs(high) < INFINITE and low != high
        rounding = 1e-15 * (abs(low) + abs(high)) if is_range else 0
        assert abs(model.getLhs(row) - low) <= rounding
        assert model.getRhs(row) == high
