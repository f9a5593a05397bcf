# about: the compiler
# expect: rejected/forbidden
import numba
def candidate_variable_score(variable_features):
    with numba.objmode():
        print(1)
    return 1.0
