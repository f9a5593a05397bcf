# about: a lookup in rows at the sum of a lookup in rows: the place is written out for each column
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    r = ((0.0, 1.0, 2.0), (3.0, 4.0, 5.0))
    return sum(r[int(sum(r[int(sum(r[int(sum(r[int(sum(r[int(sum(r[int(sum(r[int(sum(r[int(sum(r[int(sum(r[int(sum(r[int(sum(r[int(sum(r[int(sum(r[int(variable_features[18])]))]))]))]))]))]))]))]))]))]))]))]))]))])
