# about: an import inside the function
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    import httpx
    return 1.0
