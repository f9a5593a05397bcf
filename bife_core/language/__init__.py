"""What a rule may say: its syntax, its features, the component it is for, and how it is compiled."""
