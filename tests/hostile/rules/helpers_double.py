# about: each helper calls the next twice: 2 ** 18 ways for a compiler to go
# expect: rejected/forbidden
def g0(a, b):
    return g1(a * 1.0, b) + g1(b, a)
def g1(a, b):
    return g2(a * 1.0, b) + g2(b, a)
def g2(a, b):
    return g3(a * 1.0, b) + g3(b, a)
def g3(a, b):
    return g4(a * 1.0, b) + g4(b, a)
def g4(a, b):
    return g5(a * 1.0, b) + g5(b, a)
def g5(a, b):
    return g6(a * 1.0, b) + g6(b, a)
def g6(a, b):
    return g7(a * 1.0, b) + g7(b, a)
def g7(a, b):
    return g8(a * 1.0, b) + g8(b, a)
def g8(a, b):
    return g9(a * 1.0, b) + g9(b, a)
def g9(a, b):
    return g10(a * 1.0, b) + g10(b, a)
def g10(a, b):
    return g11(a * 1.0, b) + g11(b, a)
def g11(a, b):
    return g12(a * 1.0, b) + g12(b, a)
def g12(a, b):
    return g13(a * 1.0, b) + g13(b, a)
def g13(a, b):
    return g14(a * 1.0, b) + g14(b, a)
def g14(a, b):
    return g15(a * 1.0, b) + g15(b, a)
def g15(a, b):
    return g16(a * 1.0, b) + g16(b, a)
def g16(a, b):
    return g17(a * 1.0, b) + g17(b, a)
def g17(a, b):
    return g18(a * 1.0, b) + g18(b, a)
def g18(a, b):
    return a + b
def candidate_variable_score(variable_features):
    return g0(1, variable_features[18])
