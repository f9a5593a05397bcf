# about: prints megabytes
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    for i in range(1000000):
        print('x' * 1000)
    return 1.0
