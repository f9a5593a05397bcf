# about: a type statement
# expect: rejected/forbidden | rejected/syntax
type X = print
def candidate_variable_score(variable_features):
    return variable_features[18]
