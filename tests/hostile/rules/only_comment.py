# about: a comment is no rule
# expect: rejected/signature
# I cannot help with that.
