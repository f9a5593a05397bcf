# about: conditions on conditions, written out for each element
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    f = variable_features
    return sum([x * y * z for x in f[:40] if x > f[1] and x < f[2] for y in f[:40] if y > x and y < f[3] for z in f[:5] if z > y])
