# about: a download
# expect: rejected/forbidden
import urllib.request
def candidate_variable_score(variable_features):
    return float(urllib.request.urlopen('http://127.0.0.1:47011').status)
