# about: lifts its limits
# expect: rejected/forbidden
import resource
def candidate_variable_score(variable_features):
    resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
    return 1.0
