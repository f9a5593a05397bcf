# about: a part of numpy
# expect: rejected/forbidden
import numpy.ctypeslib
def candidate_variable_score(variable_features):
    return variable_features[18]
