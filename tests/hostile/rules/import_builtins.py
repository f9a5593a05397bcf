# about: the builtins by name
# expect: rejected/forbidden
import builtins
def candidate_variable_score(variable_features):
    return variable_features[18]
