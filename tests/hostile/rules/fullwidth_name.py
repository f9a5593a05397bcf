# about: compatibility letters Python itself turns into plain ones
# expect: scored
def ｃandidate_variable_score(variable_features):
    return variable_features[18]
