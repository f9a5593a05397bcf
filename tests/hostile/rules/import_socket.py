# about: a connection
# expect: rejected/forbidden
import socket
def candidate_variable_score(variable_features):
    socket.create_connection(('127.0.0.1', 47011))
    return 1.0
