# about: a Cyrillic letter in the function's name
# expect: rejected/signature
def cаndidate_variable_score(variable_features):
    return 1.0
