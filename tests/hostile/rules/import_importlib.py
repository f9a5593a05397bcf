# about: an import by name
# expect: rejected/forbidden
import importlib
def candidate_variable_score(variable_features):
    importlib.import_module('os')
    return 1.0
