# about: a coroutine
# expect: rejected/forbidden | rejected/signature
async def candidate_variable_score(variable_features):
    return 1.0
