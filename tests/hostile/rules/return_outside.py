# about: a return at the top
# expect: rejected/syntax | rejected/forbidden
return 1.0
