# about: numpy's way to C
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return np.ctypeslib.load_library('libc', '/')
