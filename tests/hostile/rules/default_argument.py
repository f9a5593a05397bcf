# about: a default where state could live
# expect: rejected/signature
def candidate_variable_score(variable_features, memory=[]):
    memory.append(1.0)
    return len(memory)
