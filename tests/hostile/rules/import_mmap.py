# about: a memory map
# expect: rejected/forbidden
import mmap
def candidate_variable_score(variable_features):
    return variable_features[18]
