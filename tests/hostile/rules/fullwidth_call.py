# about: compatibility letters that become open
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return ｏｐｅｎ('/etc/passwd')
