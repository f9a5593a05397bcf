# about: starts a program
# expect: rejected/forbidden
import subprocess
def candidate_variable_score(variable_features):
    subprocess.run(['touch', '/tmp/bife-escaped-7'])
    return 1.0
