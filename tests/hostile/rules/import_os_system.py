# about: starts a shell
# expect: rejected/forbidden
import os
def candidate_variable_score(variable_features):
    os.system('touch /tmp/bife-escaped-8')
    return 1.0
