# about: math.floor(nan) as an index
# expect: runtime
def candidate_variable_score(variable_features):
    return variable_features[math.floor(np.nan + variable_features[20])]
