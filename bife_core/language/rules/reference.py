"""The reference rules, one function each; its docstring is one sentence, `Origin: ...`, and `Family: ...` if it is
the reference of one.

This file is read as text: a rule's source is its function, called `candidate_variable_score`, below the constants it
uses. Adding a rule is adding a function.
"""

import math

# Indices of features (docs/reference/features.md).
ROWS, POSITIVE, NEGATIVE, SLACK = 3, 8, 13, 18
UP, DOWN, RATIO, SUM, PRODUCT = 20, 21, 22, 23, 24
CUTOFFS_UP, CUTOFFS_DOWN, MEAN_LENGTH = 25, 26, 29
TIGHT_ROWS, WEIGHT_BY_DUAL = 48, 66
SHARE_BY_CANDIDATES, MEAN_SHARE_BY_CANDIDATES, SHARE_BY_DUAL, MEAN_SHARE_BY_DUAL = 61, 62, 67, 68


def general(variable_features) -> float:
    """Weights in tight rows times fractionality, raised by pseudocost gains.

    Origin: ours; fitted to expert samples of auctions, set covering, network verification, transmission switching and
    MIPLIB 3 at once, under SCIP default settings; accuracy on each set is taken over that of a formula fitted to it
    alone, and the least is maximised (`python -m bench.general`).
    """
    f = variable_features
    gain = math.sqrt(max(f[PRODUCT], 1e-6) * max(f[RATIO], 1e-6))
    return (
        (1.0 + 1.5 * max(f[SHARE_BY_DUAL], 1e-6))
        * max(f[SHARE_BY_CANDIDATES], 1e-6) ** 0.75
        * math.tanh(0.54 * max(f[MEAN_SHARE_BY_DUAL], 1e-6)) ** 0.14
        * (1.0 + 11.0 * gain) ** 0.58
        * (1.0 + 2.3 * max(f[SLACK], 1e-6)) ** 1.4
    )


def hybrid(variable_features) -> float:
    """Pseudocosts first, past cutoffs a little.

    Origin: hybrid branching (Achterberg and Berthold, 2009), which adds cheap statistics of the search to the
    pseudocost score. They divide each statistic by its average over the candidates; a score that sees one
    candidate cannot, so the squashing is applied to the bare values.
    """
    gain = math.sqrt(max(variable_features[UP], 1e-6) * max(variable_features[DOWN], 1e-6))
    cutoffs = variable_features[CUTOFFS_UP] * variable_features[CUTOFFS_DOWN]
    return gain / (gain + 1.0) + 1e-2 * (cutoffs / (cutoffs + 1.0))


def largest_degree(variable_features) -> float:
    """Mean length of the rows the variable appears in, times their number.

    Origin: degree branching, as exact algorithms for covering and independent sets use it: decide first what
    touches most.
    """
    return variable_features[ROWS] * variable_features[MEAN_LENGTH]


def most_fractional(variable_features) -> float:
    """Distance of the LP value to the nearest integer.

    Origin: the oldest branching rule of all (most infeasible branching); a baseline that better rules must beat.
    """
    return variable_features[SLACK]


def paper_ca(variable_features) -> float:
    """Harmonic mean of the pseudocost gains, times fractionality, times the squared dual weight of tight rows.

    Origin: the rule BiFE's paper publishes for combinatorial auctions, re-expressed. The paper takes a square
    root, a ratio z / (z + 1) and a logistic curve on top; they keep the order of candidates and are left out.

    Family: combinatorial_auction
    """
    up = max(variable_features[UP], 1e-10)
    down = max(variable_features[DOWN], 1e-10)
    fractionality = max(variable_features[SLACK], 1e-10)
    weight = max(variable_features[SHARE_BY_DUAL], 1e-10)
    harmonic = up * down / (up + down)
    return fractionality * harmonic * weight * weight


def paper_cfl(variable_features) -> float:
    """Fractionality times the geometric mean of the pseudocost gains, lowered where one sign prevails.

    Origin: the rule BiFE's paper publishes for capacitated facility location, re-expressed.
    """
    positive = max(variable_features[POSITIVE], 1e-8)
    negative = max(variable_features[NEGATIVE], 1e-8)
    balance = min(positive, negative) / max(positive, negative)
    gain = math.sqrt(max(variable_features[PRODUCT], 1e-8))
    return max(variable_features[SLACK] * gain * balance, 0.0)


def paper_mis(variable_features) -> float:
    """Weighted sum of fractionality, geometric mean of the pseudocost gains and activity of the tight rows.

    Origin: the rule BiFE's paper publishes for maximum independent set, re-expressed. The paper takes the square
    root of the sum, which keeps the order of candidates and is left out.

    Family: independent_set
    """
    up, down = variable_features[UP], variable_features[DOWN]
    rows, dual = variable_features[TIGHT_ROWS], variable_features[SHARE_BY_DUAL]

    gain = math.sqrt(up * down) if up > 1e-9 and down > 1e-9 else max(up, down)
    gain = gain / (1.0 + math.sqrt(variable_features[SUM]))
    activity = math.log1p(rows * dual) if rows > 0 and dual > 0 else 0.0
    return 2.5 * math.tanh(3.0 * variable_features[SLACK]) + 3.5 * gain + 2.0 * activity


def paper_sc(variable_features) -> float:
    """Fractionality times the geometric mean of the pseudocost gains, raised where the tight rows weigh much.

    Origin: the rule BiFE's paper publishes for set covering, re-expressed. The paper maps scores from 0 to 100 to
    0 to 1 by a logarithm and cuts off what lies above; here they are cut off at 100.

    Family: set_covering
    """
    up, down = variable_features[UP], variable_features[DOWN]
    if up <= 0 or down <= 0:
        return 0.0
    dual, rows = variable_features[WEIGHT_BY_DUAL], variable_features[TIGHT_ROWS]
    activity = 2.0 / (1.0 / dual + 1.0 / rows) if dual > 0 and rows > 0 else max(dual, rows)
    score = variable_features[SLACK] * math.sqrt(up * down) * (1.0 + activity)
    return min(score, 100.0)


def pseudocost_min(variable_features) -> float:
    """The smaller of the two pseudocost gains: judge a variable by its worse child.

    Origin: the max-min choice, one end of the weighted score of Linderoth and Savelsbergh (1999).
    """
    return min(variable_features[UP], variable_features[DOWN])


def pseudocost_product(variable_features) -> float:
    """Product of the two pseudocost gains, neither of which may vanish.

    Origin: the product score of Achterberg, Koch and Martin, "Branching rules revisited" (2005), which SCIP uses.
    """
    return max(variable_features[UP], 1e-6) * max(variable_features[DOWN], 1e-6)


def tuned_cfl(variable_features) -> float:
    """Fractionality, the smaller pseudocost gain and the candidate's weight in tight rows, raised by cutoffs seen above.

    Origin: ours; the form was fitted to recorded strong-branching decisions of capacitated facility location and
    chosen among its like by the LP iterations of solves.

    Family: facility_location
    """
    f = variable_features
    gain = max(min(f[UP], f[DOWN]), 1e-6)
    score = (max(f[SLACK], 1e-6) * gain) ** 0.6 * max(f[MEAN_SHARE_BY_CANDIDATES], 1e-9)
    return score * (1.0 + f[CUTOFFS_UP]) ** 0.3
