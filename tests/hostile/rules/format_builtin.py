# about: attributes by format()
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return float(len(format(np, '')))
