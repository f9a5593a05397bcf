# about: state between calls, by a closure
# expect: rejected/forbidden
def make():
    n = 0
    def inner():
        nonlocal n
        n = n + 1
        return n
    return inner
def candidate_variable_score(variable_features):
    return make()()
