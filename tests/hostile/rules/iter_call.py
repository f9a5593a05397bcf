# about: an iterator without end
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return sum(iter(int, 1))
