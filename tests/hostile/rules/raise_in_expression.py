# about: raises by a generator's throw
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    (x for x in ()).throw(SystemExit)
    return 1.0
