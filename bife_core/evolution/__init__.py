"""The driver: it asks a search, finds the answers, and keeps a journal of them."""
