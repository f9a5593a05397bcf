# about: the same by helpers
# expect: rejected/type
def g0(x):
    return (x, x)
def g1(x):
    return g0(g0(x))
def g2(x):
    return g1(g1(x))
def g3(x):
    return g2(g2(x))
def g4(x):
    return g3(g3(x))
def g5(x):
    return g4(g4(x))
def g6(x):
    return g5(g5(x))
def g7(x):
    return g6(g6(x))
def g8(x):
    return g7(g7(x))
def g9(x):
    return g8(g8(x))
def g10(x):
    return g9(g9(x))
def g11(x):
    return g10(g10(x))
def g12(x):
    return g11(g11(x))
def g13(x):
    return g12(g12(x))
def g14(x):
    return g13(g13(x))
def candidate_variable_score(variable_features):
    t = g14(1.0)
    return 1.0
