# about: swallows signals
# expect: rejected/forbidden
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def candidate_variable_score(variable_features):
    return variable_features[18]
