# about: BiFE itself
# expect: rejected/forbidden
from . import sandbox
def candidate_variable_score(variable_features):
    return variable_features[18]
