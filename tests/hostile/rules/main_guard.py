# about: a script
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return variable_features[18]
if __name__ == '__main__':
    print(candidate_variable_score([0.0] * 72))
