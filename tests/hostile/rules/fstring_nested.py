# about: format strings inside format strings
# expect: rejected/syntax | rejected/forbidden
def candidate_variable_score(variable_features):
    return f'{f"{f'''{1}'''}"}'
