# about: a function without a name
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return (lambda x: x)(1.0)
