# about: ten helpers, each a loop over the one before
# expect: timeout | scored | rejected/forbidden
def g0(x):
    return math.sin(x)
def g1(x):
    s = x
    for i in range(40):
        s = s + g0(s)
    return s
def g2(x):
    s = x
    for i in range(40):
        s = s + g1(s)
    return s
def g3(x):
    s = x
    for i in range(40):
        s = s + g2(s)
    return s
def g4(x):
    s = x
    for i in range(40):
        s = s + g3(s)
    return s
def g5(x):
    s = x
    for i in range(40):
        s = s + g4(s)
    return s
def g6(x):
    s = x
    for i in range(40):
        s = s + g5(s)
    return s
def g7(x):
    s = x
    for i in range(40):
        s = s + g6(s)
    return s
def g8(x):
    s = x
    for i in range(40):
        s = s + g7(s)
    return s
def g9(x):
    s = x
    for i in range(40):
        s = s + g8(s)
    return s
def candidate_variable_score(variable_features):
    return g9(variable_features[18])
