"""The forward passes of networks as machine code: what a node scorer runs without Python.

All compiled code of the networks is in this file, so that numba compiles it anew when any of it changes.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"
from __future__ import annotations

import math
from functools import cache
from typing import Any, Final

import numpy as np
from numba import int64

from bife_core.extend import c_callback, ensure_room, float64_view, int64_at, int64_view, jit
from bife_rivals.weights import HIDDEN, INPUTS, LAYERS, N_FEATURES, N_ROW, N_VARIABLE, PERCEPTRON, SIZE, SLOPE

_WIDTH: Final = N_FEATURES
_ZERO: Final = np.float32(0.0)
_PERCEPTRON_SIZE: Final = sum(math.prod(shape) for shape in PERCEPTRON.values())
_EMBEDDING: Final = SIZE // 2
_RECORD: Final = LAYERS * HIDDEN
"""Words of an embedding, and of the factors and shifts of one variable."""

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
    fours = width - width % 4
    for i in range(0, n - 1, 2):
        for k in range(0, fours, 4):
            a0, a1, a2, a3 = x[i, k], x[i, k + 1], x[i, k + 2], x[i, k + 3]
            b0, b1, b2, b3 = x[i + 1, k], x[i + 1, k + 1], x[i + 1, k + 2], x[i + 1, k + 3]
            for j in range(columns):
                w0, w1, w2, w3 = weight[k, j], weight[k + 1, j], weight[k + 2, j], weight[k + 3, j]
                out[i, j] += (a0 * w0 + a1 * w1) + (a2 * w2 + a3 * w3)
                out[i + 1, j] += (b0 * w0 + b1 * w1) + (b2 * w2 + b3 * w3)
        for k in range(fours, width):
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
def _rectify(x):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[i, j] = max(x[i, j], _ZERO)
    return x


@jit
def _layer(x, at, columns):
    """Return a linear layer of `x` by the weights at `at`, and what is behind these."""
    weight, at = _matrix(at, x.shape[1], columns)
    bias, at = _vector(at, columns)
    out = np.empty((x.shape[0], columns), np.float32)
    for i in range(x.shape[0]):
        for j in range(columns):
            out[i, j] = bias[j]
    multiply(x, weight, out)
    return out, at


@jit
def _two_layers(x, at):
    """Return two layers of `x`, and what is behind their weights."""
    hidden, at = _layer(x, at, SIZE)
    out, at = _layer(_rectify(hidden), at, SIZE)
    return _rectify(out), at


@jit
def _single(address, n, width):
    """Copy a matrix of doubles in single precision."""
    return float64_view(address, n * width).reshape((n, width)).astype(np.float32)


@jit
def _message_parts(rows, variables, at):
    """Return what rows, edges and variables add to messages, and what is behind the weights."""
    of_rows, at = _layer(rows, at, SIZE)
    edge, at = _vector(at, SIZE)
    weight, at = _matrix(at, SIZE, SIZE)
    of_variables = np.zeros((variables.shape[0], SIZE), np.float32)
    multiply(variables, weight, of_variables)
    return of_rows, edge, of_variables, at


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
    return _two_layers(both, at)


@jit
def embed(node, candidates, at):
    """Return the embeddings of the variables `candidates`, (c, `SIZE`), and where further weights are."""
    n_variables, n_rows = node[_N_VARIABLES], node[_N_ROWS]
    starts = int64_view(node[_EDGE_STARTS], n_rows + 1)
    edge_variables = int64_view(node[_EDGE_VARIABLES], starts[n_rows])
    edge_values = float64_view(node[_EDGE_VALUES], starts[n_rows])
    rows, at = _two_layers(_single(node[_ROWS], n_rows, N_ROW), at)
    variables, at = _two_layers(_single(node[_VARIABLES], n_variables, N_VARIABLE), at)

    of_rows, edge, of_variables, at = _message_parts(rows, variables, at)
    sums = np.zeros((n_rows, SIZE), np.float32)
    degrees = np.empty(n_rows, np.float32)
    for r in range(n_rows):
        degrees[r] = np.float32(starts[r + 1] - starts[r])
        for e in range(starts[r], starts[r + 1]):
            _add_message(
                sums[r], of_rows[r], np.float32(edge_values[e]), edge, of_variables[edge_variables[e]]
            )
    rows, at = _joined(sums, degrees, rows, at)

    n = len(candidates)
    near = np.empty((n, SIZE), np.float32)
    owner = np.full(n_variables, -1, np.int64)
    for c in range(n):
        owner[candidates[c]] = c
        for j in range(SIZE):
            near[c, j] = variables[candidates[c], j]
    of_rows, edge, of_candidates, at = _message_parts(rows, near, at)
    sums = np.zeros((n, SIZE), np.float32)
    degrees = np.zeros(n, np.float32)
    for r in range(n_rows):
        for e in range(starts[r], starts[r + 1]):
            c = owner[edge_variables[e]]
            if c >= 0:
                degrees[c] += np.float32(1.0)
                _add_message(sums[c], of_candidates[c], np.float32(edge_values[e]), edge, of_rows[r])
    return _joined(sums, degrees, near, at)


@jit
def _write_scores(hidden, weight, out):
    for c in range(hidden.shape[0]):
        total = _ZERO
        for j in range(hidden.shape[1]):
            total += hidden[c, j] * weight[j]
        out[c] = total


def gnn(node, n, out):
    """Score the candidates of a node by the graph network."""
    words = int64_view(node, _MEMORY + 1)
    embedded, at = embed(words, int64_view(words[_CANDIDATES], n), words[_DATA])
    hidden, at = _layer(embedded, at, SIZE)
    weight, _ = _vector(at, SIZE)
    _write_scores(_rectify(hidden), weight, float64_view(out, n))
    return 0


@jit
def _scaled_inputs(features, variables, candidates, n):
    """Return the `INPUTS` of each candidate, of which the last is 1, each scaled to -1 to 1 over the candidates."""
    out = np.empty((n, INPUTS), np.float32)
    for j in range(INPUTS - 1):
        low, high = np.inf, -np.inf
        for c in range(n):
            value = variables[candidates[c], j] if j < N_VARIABLE else features[c, j - N_VARIABLE]
            low, high = min(low, value), max(high, value)
        span = high - low if high > low else 1.0
        for c in range(n):
            value = variables[candidates[c], j] if j < N_VARIABLE else features[c, j - N_VARIABLE]
            out[c, j] = np.float32(2.0 * (value - low) / span - 1.0)
    out[:, INPUTS - 1] = np.float32(1.0)
    return out


@jit
def _begin(memory, words, at):
    """Embed every variable and keep that, normalised; return whether there was a graph and memory."""
    n = words[_N_VARIABLES]
    if words[_N_ROWS] == 0:
        return False
    embedded, _ = embed(words, np.arange(n), at + 4 * _PERCEPTRON_SIZE)
    if not ensure_room(memory, 0, 2 + n + n * _EMBEDDING):
        return False
    head = int64_view(memory[0], 2 + n)
    head[0] = n
    head[1] = 0
    scale, _ = _vector(at, SIZE)
    bias, _ = _vector(at + 4 * SIZE, SIZE)
    kept = _view(memory[0] + 8 * (2 + n), n * SIZE)
    for v in range(n):
        head[2 + v] = -1
        mean = np.float32(0.0)
        square = np.float32(0.0)
        for j in range(SIZE):
            mean += embedded[v, j]
        mean /= np.float32(SIZE)
        for j in range(SIZE):
            square += (embedded[v, j] - mean) ** 2
        inverse = np.float32(1.0) / np.sqrt(square / np.float32(SIZE) + np.float32(1e-5))
        for j in range(SIZE):
            kept[v * SIZE + j] = (embedded[v, j] - mean) * inverse * scale[j] + bias[j]
    return True


@jit
def _factors(memory, variable, at):
    """Return the address of a variable's factors and shifts, computed when first asked for; 0 without memory."""
    n = int64_at(memory[0])[0]
    place = int64_at(memory[0])[2 + variable]
    front = 2 + n + n * _EMBEDDING
    if place < 0:
        place = int64_at(memory[0])[1]
        if not ensure_room(memory, 0, front + (place + 1) * _RECORD):
            return int64(0)
        int64_at(memory[0])[1] = place + 1
        int64_at(memory[0])[2 + variable] = place
        weight, behind = _matrix(at + 8 * SIZE, SIZE, 2 * _RECORD)
        bias, _ = _vector(behind, 2 * _RECORD)
        embedding = _view(memory[0] + 8 * (2 + n) + 4 * variable * SIZE, SIZE).reshape((1, SIZE))
        out = _view(memory[0] + 8 * (front + place * _RECORD), 2 * _RECORD).reshape((1, 2 * _RECORD))
        out[0] = bias
        multiply(embedding, weight, out)
    return memory[0] + 8 * (front + place * _RECORD)


def film(node, n, out):
    """Score the candidates of a node by the perceptron, after the graph network at the first node."""
    words = int64_view(node, _MEMORY + 1)
    memory = int64_view(words[_MEMORY], 2)
    at = words[_DATA]
    if words[_FIRST] != 0:
        if not _begin(memory, words, at):
            return 1
    elif memory[0] == 0 or int64_at(memory[0])[0] != words[_N_VARIABLES]:
        return 1
    candidates = int64_view(words[_CANDIDATES], n)
    shape = words[_N_VARIABLES], N_VARIABLE
    variables = float64_view(words[_VARIABLES], shape[0] * shape[1]).reshape(shape)
    features = float64_view(words[_FEATURES], n * _WIDTH).reshape((n, _WIDTH))
    x = _scaled_inputs(features, variables, candidates, n)
    places = np.empty(n, np.int64)
    for c in range(n):
        factors = _factors(memory, candidates[c], at)
        if factors == 0:
            return 1
        places[c] = factors - memory[0]
    at += 4 * (2 * SIZE + SIZE * 2 * _RECORD + 2 * _RECORD)
    for k in range(LAYERS):
        x, at = _layer(x, at, HIDDEN)
        for c in range(n):
            factor_and_shift = _view(memory[0] + places[c] + 8 * k * HIDDEN, 2 * HIDDEN)
            for j in range(HIDDEN):
                value = x[c, j]
                value = max(value, np.float32(SLOPE) * value)
                x[c, j] = value * factor_and_shift[j] + factor_and_shift[HIDDEN + j]
    weight, at = _vector(at, HIDDEN)
    _write_scores(x, weight, float64_view(out, n))
    return 0


@cache
def machine_code(score: Any) -> Any:
    """Return the C function of a kernel, compiled on its first use."""
    return c_callback(int64(int64, int64, int64))(score)
