# about: a filter that leaves nothing
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return min([x for x in variable_features if x < -1e300])
