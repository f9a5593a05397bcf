# about: not a number, ever
# expect: runtime
def candidate_variable_score(variable_features):
    return float('nan')
