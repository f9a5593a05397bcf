# about: typographic quotes
# expect: rejected/syntax
def candidate_variable_score(variable_features):
    return float(“inf”)
