# about: reads address 0
# expect: rejected/forbidden
import ctypes
def candidate_variable_score(variable_features):
    return float(len(ctypes.string_at(0)))
