# about: state by a method
# expect: rejected/forbidden
SEEN = []
def candidate_variable_score(variable_features):
    SEEN.append(1)
    return len(SEEN)
