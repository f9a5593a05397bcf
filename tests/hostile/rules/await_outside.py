# about: await in a plain function
# expect: rejected/syntax | rejected/forbidden
def candidate_variable_score(variable_features):
    await variable_features
    return 1.0
