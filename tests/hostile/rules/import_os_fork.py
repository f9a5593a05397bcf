# about: a fork bomb
# expect: rejected/forbidden
import os
def candidate_variable_score(variable_features):
    while True:
        os.fork()
