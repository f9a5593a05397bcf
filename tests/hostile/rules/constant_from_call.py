# about: a constant that is computed by a call
# expect: rejected/forbidden
X = open('/etc/passwd').fileno()
def candidate_variable_score(variable_features):
    return variable_features[18]
