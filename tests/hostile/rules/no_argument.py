# about: no argument
# expect: rejected/signature
def candidate_variable_score():
    return 1.0
