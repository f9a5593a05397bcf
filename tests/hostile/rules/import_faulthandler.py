# about: a crash on purpose
# expect: rejected/forbidden
import faulthandler
def candidate_variable_score(variable_features):
    faulthandler._sigsegv()
    return 1.0
