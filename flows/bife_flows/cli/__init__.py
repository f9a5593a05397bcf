"""What the command `bife` has in a checkout beside the library's: a home in operation, and stages run as flows."""
