# about: BiFE itself
# expect: rejected/forbidden
import bife_core.sandbox
def candidate_variable_score(variable_features):
    return variable_features[18]
