# about: a method instead of a function
# expect: rejected/forbidden
class Rule:
    def candidate_variable_score(self, variable_features):
        return 1.0
