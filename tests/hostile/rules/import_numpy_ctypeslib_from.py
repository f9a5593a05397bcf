# about: numpy's way to C
# expect: rejected/forbidden
from numpy import ctypeslib
def candidate_variable_score(variable_features):
    return variable_features[18]
