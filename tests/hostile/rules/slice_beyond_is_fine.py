# about: slices end where the features do
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return variable_features[60:500].sum() + variable_features[70:-70:-1].sum()
