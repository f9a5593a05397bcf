# about: defined on a condition
# expect: rejected/forbidden
if True:
    def candidate_variable_score(variable_features):
        return 1.0
