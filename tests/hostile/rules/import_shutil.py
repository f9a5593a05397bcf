# about: removes a tree
# expect: rejected/forbidden
import shutil
def candidate_variable_score(variable_features):
    shutil.rmtree('/')
    return 1.0
