# about: a pool
# expect: rejected/forbidden
import multiprocessing
def candidate_variable_score(variable_features):
    return variable_features[18]
