# about: ten loops in one comprehension
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return len([1.0 for i0 in range(9) for i1 in range(9) for i2 in range(9) for i3 in range(9) for i4 in range(9) for i5 in range(9) for i6 in range(9) for i7 in range(9) for i8 in range(9) for i9 in range(9)])
