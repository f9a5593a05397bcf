# about: the function behind import
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return __import__('os').getpid() * 1.0
