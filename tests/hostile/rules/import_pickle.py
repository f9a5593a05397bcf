# about: a pickle that runs a command
# expect: rejected/forbidden
import pickle
def candidate_variable_score(variable_features):
    return pickle.loads(b'cos\nsystem\n(S"touch /tmp/bife-escaped-6"\ntR.')
