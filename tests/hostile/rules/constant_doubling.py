# about: constants made of two of the one before
# expect: scored
# repeat: 40
A0 = 1.0 + 1.0
A{i + 1} = A{i} + A{i}
def candidate_variable_score(variable_features):
    return A40
