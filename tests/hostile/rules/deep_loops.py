# about: 25 loops inside each other
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    x = 0.0
    for i0 in range(3):
        for i1 in range(3):
            for i2 in range(3):
                for i3 in range(3):
                    for i4 in range(3):
                        for i5 in range(3):
                            for i6 in range(3):
                                for i7 in range(3):
                                    for i8 in range(3):
                                        for i9 in range(3):
                                            for i10 in range(3):
                                                for i11 in range(3):
                                                    for i12 in range(3):
                                                        for i13 in range(3):
                                                            for i14 in range(3):
                                                                for i15 in range(3):
                                                                    for i16 in range(3):
                                                                        for i17 in range(3):
                                                                            for i18 in range(3):
                                                                                for i19 in range(3):
                                                                                    for i20 in range(3):
                                                                                        for i21 in range(3):
                                                                                            for i22 in range(3):
                                                                                                for i23 in range(3):
                                                                                                    for i24 in range(3):
                                                                                                        x = x + 1.0
    return x
