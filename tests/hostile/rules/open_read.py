# about: reads a file
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return float(len(open('/etc/passwd').read()))
