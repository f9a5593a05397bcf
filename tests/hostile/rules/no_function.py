# about: constants only
# expect: rejected/signature
WEIGHT = 0.5
