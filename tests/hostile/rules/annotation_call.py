# about: code in an annotation is never run
# expect: scored
# solve: solved
def candidate_variable_score(variable_features: open('/tmp/bife-escaped-b', 'w')) -> exec('import os'):
    x: exec('1') = variable_features[18]
    return x
