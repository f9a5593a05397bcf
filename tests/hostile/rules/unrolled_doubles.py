# about: each comprehension doubles what is written out
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return sum([x + x for x in [x + x for x in [x + x for x in [x + x for x in [x + x for x in [x + x for x in [x + x for x in [x + x for x in [x + x for x in [x + x for x in [x + x for x in [x + x for x in [x + x for x in [x + x for x in [x + x for x in [x + x for x in [x + x for x in [x + x for x in variable_features[1:3]]]]]]]]]]]]]]]]]]])
