# about: a name for 2 ** 14 elements
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    v = [[p, p] for p in [[p, p] for p in [[p, p] for p in [[p, p] for p in [[p, p] for p in [[p, p] for p in [[p, p] for p in [[p, p] for p in [[p, p] for p in [[p, p] for p in [[p, p] for p in [[p, p] for p in [[p, p] for p in [[p, p] for p in [variable_features[1]]]]]]]]]]]]]]]]
    return len(v)
