# about: every class there is
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return float(len(().__class__.__bases__[0].__subclasses__()))
