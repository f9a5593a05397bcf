# about: mixed indentation
# expect: rejected/syntax
def candidate_variable_score(variable_features):
    x = 1.0
	return x
