# about: reads the environment
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    import os
    return float(len(os.environ['BIFE_LLM_API_KEY']))
