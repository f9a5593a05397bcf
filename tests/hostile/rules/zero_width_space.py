# about: an invisible character in a name
# expect: rejected/syntax
def candidate_variable_score(variable_features):
    re​turn 1.0
