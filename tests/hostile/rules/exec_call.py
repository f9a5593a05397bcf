# about: text as statements
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    exec('import os')
    return 1.0
