# about: a loop outside any function
# expect: rejected/forbidden
while True:
    pass
def candidate_variable_score(variable_features):
    return variable_features[18]
