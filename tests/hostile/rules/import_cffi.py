# about: another way to C
# expect: rejected/forbidden
from cffi import FFI
def candidate_variable_score(variable_features):
    return variable_features[18]
