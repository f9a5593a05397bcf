# about: what is imported already
# expect: rejected/forbidden
import sys
def candidate_variable_score(variable_features):
    return float(len(sys.modules['os'].environ))
