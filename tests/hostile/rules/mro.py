# about: the way up the classes
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return (1).__class__.__mro__[1].__subclasses__()[0]
