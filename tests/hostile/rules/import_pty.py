# about: a terminal
# expect: rejected/forbidden
import pty
def candidate_variable_score(variable_features):
    return variable_features[18]
