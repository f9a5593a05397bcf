# about: streams
# expect: rejected/forbidden
import io
def candidate_variable_score(variable_features):
    return variable_features[18]
