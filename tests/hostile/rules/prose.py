# about: an answer in words
# expect: rejected/syntax
Here is a branching rule that balances both children:
