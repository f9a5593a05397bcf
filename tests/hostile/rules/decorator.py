# about: a decorator
# expect: rejected/forbidden
@staticmethod
def candidate_variable_score(variable_features):
    return variable_features[18]
