# about: the class above
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return super().x
