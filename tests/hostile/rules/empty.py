# about: nothing at all
# expect: rejected/no_code
