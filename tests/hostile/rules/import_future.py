# about: a compiler directive
# expect: rejected/forbidden
from __future__ import annotations
def candidate_variable_score(variable_features):
    return variable_features[18]
