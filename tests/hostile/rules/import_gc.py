# about: all objects there are
# expect: rejected/forbidden
import gc
def candidate_variable_score(variable_features):
    return float(len(gc.get_objects()))
