# about: text as code
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return eval('1.0')
