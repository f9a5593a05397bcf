# about: calls the model that wrote it
# expect: rejected/forbidden
from openai import OpenAI
def candidate_variable_score(variable_features):
    return variable_features[18]
