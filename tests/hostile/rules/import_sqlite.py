# about: a database
# expect: rejected/forbidden
import sqlite3
def candidate_variable_score(variable_features):
    return variable_features[18]
