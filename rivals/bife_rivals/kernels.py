"""The forward passes of networks as machine code: what a node scorer runs without Python.

All compiled code of the networks is in this file, so that numba compiles it anew when any of it changes.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"
from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, Final

import numpy as np
from numba import int64

from bife_core.jit import c_callback, jit
from bife_core.scip.compiled.memory import float64_view, int64_view
from bife_rivals.weights import SIZE

_ZERO: Final = np.float32(0.0)

_FEATURES, _VARIABLES, _N_VARIABLES, _CANDIDATES, _ROWS, _N_ROWS = range(6)
_EDGE_STARTS, _EDGE_VARIABLES, _EDGE_VALUES, _FIRST, _DEPTH, _DATA, _MEMORY = range(6, 13)
"""Words of a node, as `NodeMethod.address` describes them."""


@jit
def _view(address, length):
    """View `length` single precision numbers, an even number of them, at `address`."""
    return float64_view(address, length // 2).view(np.float32)


@jit
def _matrix(address, rows, columns):
    """View a matrix, and say where the array behind it is."""
    return _view(address, rows * columns).reshape((rows, columns)), address + 4 * rows * columns


@jit
def _vector(address, length):
    return _view(address, length), address + 4 * length


@jit
def multiply(x, weight, out):
    """Add x @ weight to `out`; four inputs of two rows at once, so that a load of weights serves eight products."""
    n, width = x.shape
    columns = weight.shape[1]
    whole = width - width % 4
    for i in range(0, n - 1, 2):
        for k in range(0, whole, 4):
            a0, a1, a2, a3 = x[i, k], x[i, k + 1], x[i, k + 2], x[i, k + 3]
            b0, b1, b2, b3 = x[i + 1, k], x[i + 1, k + 1], x[i + 1, k + 2], x[i + 1, k + 3]
            for j in range(columns):
                w0, w1, w2, w3 = weight[k, j], weight[k + 1, j], weight[k + 2, j], weight[k + 3, j]
                out[i, j] += (a0 * w0 + a1 * w1) + (a2 * w2 + a3 * w3)
                out[i + 1, j] += (b0 * w0 + b1 * w1) + (b2 * w2 + b3 * w3)
        for k in range(whole, width):
            a0, b0 = x[i, k], x[i + 1, k]
            for j in range(columns):
                out[i, j] += a0 * weight[k, j]
                out[i + 1, j] += b0 * weight[k, j]
    if n % 2 == 1:
        for k in range(width):
            a0 = x[n - 1, k]
            for j in range(columns):
                out[n - 1, j] += a0 * weight[k, j]


@jit
def _filled(n, bias):
    out = np.empty((n, len(bias)), np.float32)
    for i in range(n):
        for j in range(len(bias)):
            out[i, j] = bias[j]
    return out


@jit
def _rectify(x):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[i, j] = max(x[i, j], _ZERO)
    return x


@jit
def _layer(x, weight, bias):
    out = _filled(x.shape[0], bias)
    multiply(x, weight, out)
    return out


@jit
def _two_layers(x, at, width):
    """Return two layers of `x` with what is at `at`, and what is behind it."""
    weight, at = _matrix(at, width, SIZE)
    bias, at = _vector(at, SIZE)
    hidden = _rectify(_layer(x, weight, bias))
    weight, at = _matrix(at, SIZE, SIZE)
    bias, at = _vector(at, SIZE)
    return _rectify(_layer(hidden, weight, bias)), at


@jit
def _single(address, n, width):
    """Copy a matrix of doubles in single precision."""
    given = float64_view(address, n * width)
    out = np.empty((n, width), np.float32)
    for i in range(n):
        for j in range(width):
            out[i, j] = np.float32(given[i * width + j])
    return out


@jit
def _add_message(sums, mine, value, edge, other):
    for j in range(SIZE):
        sums[j] += max(mine[j] + value * edge[j] + other[j], _ZERO)


@jit
def _joined(sums, degrees, target, at):
    """Return the target vertices after the sums of their messages, and what is behind the weights."""
    weight, at = _matrix(at, SIZE, SIZE)
    bias, at = _vector(at, SIZE)
    n = target.shape[0]
    both = np.empty((n, 2 * SIZE), np.float32)
    for i in range(n):
        for j in range(SIZE):
            both[i, j] = degrees[i] * bias[j]
            both[i, SIZE + j] = target[i, j]
    multiply(sums, weight, both)
    return _two_layers(both, at, 2 * SIZE)


@jit
def embed(node, candidates, at):
    """Return the embeddings of the variables `candidates`, (c, `SIZE`), and where further weights are."""
    n_variables, n_rows = node[_N_VARIABLES], node[_N_ROWS]
    starts = int64_view(node[_EDGE_STARTS], n_rows + 1)
    edge_variables = int64_view(node[_EDGE_VARIABLES], starts[n_rows])
    edge_values = float64_view(node[_EDGE_VALUES], starts[n_rows])
    rows, at = _two_layers(_single(node[_ROWS], n_rows, 5), at, 5)
    variables, at = _two_layers(_single(node[_VARIABLES], n_variables, 19), at, 19)

    weight, at = _matrix(at, SIZE, SIZE)
    bias, at = _vector(at, SIZE)
    mine = _layer(rows, weight, bias)
    edge, at = _vector(at, SIZE)
    weight, at = _matrix(at, SIZE, SIZE)
    other = np.zeros((n_variables, SIZE), np.float32)
    multiply(variables, weight, other)
    sums = np.zeros((n_rows, SIZE), np.float32)
    degrees = np.empty(n_rows, np.float32)
    for r in range(n_rows):
        degrees[r] = np.float32(starts[r + 1] - starts[r])
        for e in range(starts[r], starts[r + 1]):
            _add_message(sums[r], mine[r], np.float32(edge_values[e]), edge, other[edge_variables[e]])
    rows, at = _joined(sums, degrees, rows, at)

    n = len(candidates)
    near = np.empty((n, SIZE), np.float32)
    owner = np.full(n_variables, -1, np.int64)
    for c in range(n):
        owner[candidates[c]] = c
        for j in range(SIZE):
            near[c, j] = variables[candidates[c], j]
    weight, at = _matrix(at, SIZE, SIZE)
    bias, at = _vector(at, SIZE)
    other = _layer(rows, weight, bias)
    edge, at = _vector(at, SIZE)
    weight, at = _matrix(at, SIZE, SIZE)
    mine = np.zeros((n, SIZE), np.float32)
    multiply(near, weight, mine)
    sums = np.zeros((n, SIZE), np.float32)
    degrees = np.zeros(n, np.float32)
    for r in range(n_rows):
        for e in range(starts[r], starts[r + 1]):
            c = owner[edge_variables[e]]
            if c >= 0:
                degrees[c] += np.float32(1.0)
                _add_message(sums[c], mine[c], np.float32(edge_values[e]), edge, other[r])
    return _joined(sums, degrees, near, at)


@jit
def _write_scores(hidden, weight, out):
    for c in range(hidden.shape[0]):
        total = _ZERO
        for j in range(hidden.shape[1]):
            total += hidden[c, j] * weight[j]
        out[c] = total


@jit
def gnn(node, n, out):
    """Score the candidates of a node by the graph network."""
    words = int64_view(node, _MEMORY + 1)
    embedded, at = embed(words, int64_view(words[_CANDIDATES], n), words[_DATA])
    weight, at = _matrix(at, SIZE, SIZE)
    bias, at = _vector(at, SIZE)
    hidden = _rectify(_layer(embedded, weight, bias))
    weight, at = _vector(at, SIZE)
    _write_scores(hidden, weight, float64_view(out, n))
    return 0


def free(memory: Any) -> None:
    """Give back what a forward pass kept in the two words of `memory`."""
    ctypes.CDLL(None).free(ctypes.c_void_p(int(memory[0])))
    memory[:] = 0


@cache
def machine_code(score: Any) -> Any:
    """Return the C function of a kernel, compiled on its first use."""

    def call(node, n, out):
        return score(node, n, out)

    return c_callback(int64(int64, int64, int64))(call)
