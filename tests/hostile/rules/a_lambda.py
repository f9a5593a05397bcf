# about: a name bound to a lambda
# expect: rejected
candidate_variable_score = lambda variable_features: variable_features[20]
