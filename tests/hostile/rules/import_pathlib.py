# about: a path object
# expect: rejected/forbidden
from pathlib import Path
def candidate_variable_score(variable_features):
    return variable_features[18]
