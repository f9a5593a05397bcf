# about: numpy's downloader
# expect: rejected/forbidden
def candidate_variable_score(variable_features):
    return np.lib.npyio.DataSource('/tmp').open('http://127.0.0.1:47011/').read()
