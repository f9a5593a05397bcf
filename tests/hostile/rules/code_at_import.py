# about: a call outside any function
# expect: rejected/forbidden
print('hello')
def candidate_variable_score(variable_features):
    return variable_features[18]
