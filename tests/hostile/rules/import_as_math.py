# about: os under the name of math
# expect: rejected/forbidden
import os as math
def candidate_variable_score(variable_features):
    return math.getpid() * 1.0
