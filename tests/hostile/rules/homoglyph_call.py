# about: a Cyrillic o in open
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return оpen('/etc/passwd')
