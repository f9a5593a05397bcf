# about: each helper hands the features on under other names: 2 ** 12 ways to follow them
# expect: rejected/type
def g0(a, b, c, d, e, f, g, h, i, j, k, l):
    return g1(b, c, d, e, f, g, h, i, j, k, l, a) + g1(a, a, c, d, e, f, g, h, i, j, k, l)
def g1(a, b, c, d, e, f, g, h, i, j, k, l):
    return g2(b, c, d, e, f, g, h, i, j, k, l, a) + g2(a, a, c, d, e, f, g, h, i, j, k, l)
def g2(a, b, c, d, e, f, g, h, i, j, k, l):
    return g3(b, c, d, e, f, g, h, i, j, k, l, a) + g3(a, a, c, d, e, f, g, h, i, j, k, l)
def g3(a, b, c, d, e, f, g, h, i, j, k, l):
    return g4(b, c, d, e, f, g, h, i, j, k, l, a) + g4(a, a, c, d, e, f, g, h, i, j, k, l)
def g4(a, b, c, d, e, f, g, h, i, j, k, l):
    return g5(b, c, d, e, f, g, h, i, j, k, l, a) + g5(a, a, c, d, e, f, g, h, i, j, k, l)
def g5(a, b, c, d, e, f, g, h, i, j, k, l):
    return g6(b, c, d, e, f, g, h, i, j, k, l, a) + g6(a, a, c, d, e, f, g, h, i, j, k, l)
def g6(a, b, c, d, e, f, g, h, i, j, k, l):
    return g7(b, c, d, e, f, g, h, i, j, k, l, a) + g7(a, a, c, d, e, f, g, h, i, j, k, l)
def g7(a, b, c, d, e, f, g, h, i, j, k, l):
    return g8(b, c, d, e, f, g, h, i, j, k, l, a) + g8(a, a, c, d, e, f, g, h, i, j, k, l)
def g8(a, b, c, d, e, f, g, h, i, j, k, l):
    return g9(b, c, d, e, f, g, h, i, j, k, l, a) + g9(a, a, c, d, e, f, g, h, i, j, k, l)
def g9(a, b, c, d, e, f, g, h, i, j, k, l):
    return g10(b, c, d, e, f, g, h, i, j, k, l, a) + g10(a, a, c, d, e, f, g, h, i, j, k, l)
def g10(a, b, c, d, e, f, g, h, i, j, k, l):
    return g11(b, c, d, e, f, g, h, i, j, k, l, a) + g11(a, a, c, d, e, f, g, h, i, j, k, l)
def g11(a, b, c, d, e, f, g, h, i, j, k, l):
    return g12(b, c, d, e, f, g, h, i, j, k, l, a) + g12(a, a, c, d, e, f, g, h, i, j, k, l)
def g12(a, b, c, d, e, f, g, h, i, j, k, l):
    return g13(b, c, d, e, f, g, h, i, j, k, l, a) + g13(a, a, c, d, e, f, g, h, i, j, k, l)
def g13(a, b, c, d, e, f, g, h, i, j, k, l):
    return g14(b, c, d, e, f, g, h, i, j, k, l, a) + g14(a, a, c, d, e, f, g, h, i, j, k, l)
def g14(a, b, c, d, e, f, g, h, i, j, k, l):
    return g15(b, c, d, e, f, g, h, i, j, k, l, a) + g15(a, a, c, d, e, f, g, h, i, j, k, l)
def g15(a, b, c, d, e, f, g, h, i, j, k, l):
    return g16(b, c, d, e, f, g, h, i, j, k, l, a) + g16(a, a, c, d, e, f, g, h, i, j, k, l)
def g16(a, b, c, d, e, f, g, h, i, j, k, l):
    return g17(b, c, d, e, f, g, h, i, j, k, l, a) + g17(a, a, c, d, e, f, g, h, i, j, k, l)
def g17(a, b, c, d, e, f, g, h, i, j, k, l):
    return a[18]
def candidate_variable_score(variable_features):
    return g0(variable_features, variable_features, variable_features, variable_features, variable_features, variable_features, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
