# about: recursion without a name
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return (lambda f: f(f))(lambda f: f(f))
