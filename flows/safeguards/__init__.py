"""What every run does besides its stage, whoever started it: checks before, delivery after, a word on how it ended."""
