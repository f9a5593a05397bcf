# about: a package beyond the two
# expect: rejected/forbidden
from scipy.special import expit
def candidate_variable_score(variable_features):
    return expit(variable_features[20])
