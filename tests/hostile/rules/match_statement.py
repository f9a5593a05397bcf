# about: pattern matching calls methods
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    match variable_features[20]:
        case 1.0:
            return 1.0
    return 0.0
