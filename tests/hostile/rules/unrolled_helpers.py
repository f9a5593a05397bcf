# about: a helper called 300 times that calls a helper 300 times
# expect: rejected/forbidden
def g0(x):
    return sum([math.sin(x * i) for i in range(300)])
def g1(x):
    return sum([g0(x * i) for i in range(300)])
def candidate_variable_score(variable_features):
    return sum([g1(x) for x in variable_features])
