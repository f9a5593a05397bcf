# about: waits for a person
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return float(input())
