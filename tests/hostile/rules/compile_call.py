# about: text as bytecode
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    compile('1', '', 'eval')
    return 1.0
