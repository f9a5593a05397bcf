# about: a loop that ends
# expect: scored
# solve: solved
def candidate_variable_score(variable_features):
    x = min(abs(variable_features[18]), 1e6)
    n = 0
    while x > 1.0 and n < 100:
        x /= 2.0
        n += 1
    return n + x
