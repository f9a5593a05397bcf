# about: a loop nobody has proven to end, on odd steps it does not
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    n = int(variable_features[18] * 0.0) + 27
    k = 0
    while n != 0:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        k = k + 1
    return k
