# about: a package of the user's
# expect: rejected/forbidden
import requests
def candidate_variable_score(variable_features):
    requests.get('http://127.0.0.1:47011')
    return 1.0
