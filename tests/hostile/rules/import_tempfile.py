# about: a temporary file
# expect: rejected/forbidden
import tempfile
def candidate_variable_score(variable_features):
    return variable_features[18]
