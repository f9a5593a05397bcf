"""Five sixths of the smaller pseudocost gain plus one sixth of the larger.

Origin: the weighted score of Linderoth and Savelsbergh, "A computational study of search strategies for
mixed integer programming" (1999), with the weight 1/6 of Achterberg, Koch and Martin (2005).
"""

UP, DOWN = 20, 21


def candidate_variable_score(variable_features) -> float:
    up, down = variable_features[UP], variable_features[DOWN]
    return (5.0 * min(up, down) + max(up, down)) / 6.0
