# about: the builtins
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return __builtins__['open']('/etc/passwd').fileno() * 1.0
