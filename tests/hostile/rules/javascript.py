# about: another language
# expect: rejected/syntax
function candidate_variable_score(f) { return f[20] * f[21]; }
