# about: a thread that stays
# expect: rejected/forbidden
import threading
def candidate_variable_score(variable_features):
    threading.Thread(target=print).start()
    return 1.0
