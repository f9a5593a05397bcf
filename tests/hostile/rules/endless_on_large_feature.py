# about: spins on features as large as those recorded
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    x = variable_features[0] + variable_features[1] + variable_features[2]
    while x > 0.5:
        x = x + 0.0 * variable_features[3]
    return x
