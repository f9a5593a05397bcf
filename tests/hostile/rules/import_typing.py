# about: harmless, and not needed
# expect: rejected/forbidden
from typing import List
def candidate_variable_score(variable_features):
    return variable_features[18]
