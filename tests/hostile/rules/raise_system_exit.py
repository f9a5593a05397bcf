# about: raises SystemExit
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    raise SystemExit(0)
