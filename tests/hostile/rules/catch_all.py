# about: swallows every exception
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    while True:
        try:
            while True:
                pass
        except BaseException:
            continue
