# about: the importer
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return math.__loader__.load_module('os').getpid() * 1.0
