# about: compatibility letters that become a dunder
# expect: rejected/syntax
def candidate_variable_score(variable_features):
    return variable_features.＿＿class＿＿
