# about: frames
# expect: rejected/forbidden
import inspect
def candidate_variable_score(variable_features):
    return float(len(inspect.stack()))
