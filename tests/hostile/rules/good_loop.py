# about: a loop that ends
# expect: scored
# solve: solved
def candidate_variable_score(variable_features):
    x = min(abs(variable_features[18]), 1e6)
    n = 0
    for i in range(100):
        if x > 1.0:
            x /= 2.0
            n += 1
    return n + x
