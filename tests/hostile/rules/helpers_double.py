# about: each helper calls the next twice: 2 ** 18 ways for a compiler to go
# expect: rejected/forbidden
# repeat: 18
def g{i}(a, b):
    return g{i + 1}(a * 1.0, b) + g{i + 1}(b, a)
def g18(a, b):
    return a + b
def candidate_variable_score(variable_features):
    return g0(1, variable_features[18])
