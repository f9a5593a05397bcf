# about: mathematical letters that become exec
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return 𝑒𝑥𝑒𝑐('1')
