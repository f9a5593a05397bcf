# about: an encoding line that lies
# expect: scored | rejected/syntax
# -*- coding: utf-7 -*-
def candidate_variable_score(variable_features):
    return variable_features[18]
