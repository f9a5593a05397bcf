# about: a ligature that becomes two letters
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return variable_features.ﬁll(0.0)
