# about: lines end as on an old Mac
# expect: scored
def candidate_variable_score(variable_features):    return variable_features[18]