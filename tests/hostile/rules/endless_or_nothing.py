# about: a loop that is never left by return
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    x = [1.0]
    while True:
        x = x + x
        if len(x) > 10:
            break
