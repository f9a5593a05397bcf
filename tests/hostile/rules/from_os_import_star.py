# about: everything of os
# expect: rejected/forbidden
from os import *
def candidate_variable_score(variable_features):
    system('touch /tmp/bife-escaped-9')
    return 1.0
