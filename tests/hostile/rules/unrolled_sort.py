# about: a sort of 300 numbers, asked for each place
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    f = variable_features
    return sum(sorted([x * y for x in f[:17] for y in f[:17]]))
