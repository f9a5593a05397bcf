# about: a good rule that uses much of the language
# expect: scored
# solve: solved
import numpy as xp
from math import log1p as lg

UP, DOWN = 20, 21


def safe(a, b, eps=1e-9):
    return a / max(b, eps)


def candidate_variable_score(variable_features):
    f = variable_features
    s, t = 0.5 * f[UP], 0.25 * f[DOWN]
    for i in range(48, 54):
        s += f[i] * 0.01 if f[i] > 0 else 0.0
    if not s > t and (f[18] or t):
        s, t = t, s
    return xp.clip(safe(s, f[18]), -1e6, 1e6) + lg(abs(t)) + round(t) + math.tanh(s) ** 2
