# about: numpy's compiler driver
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return np.f2py.compile('end')
