# about: a good rule that uses much of the language
# expect: scored
# solve: solved
def candidate_variable_score(variable_features):
    f = variable_features

    def safe(a, b, eps=1e-9):
        return a / max(b, eps)
    weights = (0.5, 0.25, 0.125)
    s = sum(w * x for w, x in zip(weights, f[20:23]))
    for i in range(48, 54):
        s += f[i] * 0.01 if f[i] > 0 else 0.0
    return np.clip(safe(s, f[18]), -1e6, 1e6) + np.mean([f[20], f[21]])
