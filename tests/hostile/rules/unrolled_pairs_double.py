# about: each comprehension pairs the sequences of the one before
# expect: rejected/forbidden | rejected/type
def candidate_variable_score(variable_features):
    return len([[p, p] for p in [[p, p] for p in [[p, p] for p in [[p, p] for p in [[p, p] for p in [[p, p] for p in [[p, p] for p in [[p, p] for p in [[p, p] for p in [[p, p] for p in [[p, p] for p in [[p, p] for p in [[p, p] for p in [[p, p] for p in [[p, p] for p in [[p, p] for p in [[p, p] for p in [[p, p] for p in [[p, p] for p in [[p, p] for p in [[p, p] for p in [[p, p] for p in [[p, p] for p in [[p, p] for p in [[p, p] for p in [variable_features[1]]]]]]]]]]]]]]]]]]]]]]]]]]][0])
