# about: 300 ** 7 rounds of a comprehension that yields nothing
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return len([1 for a in range(300) for b in range(300) for c in range(300) for d in range(300) for e in range(300) for g in range(300) for h in range(0)])
