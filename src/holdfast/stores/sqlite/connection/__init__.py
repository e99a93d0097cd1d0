"""Connections to the file, and the transactions on them."""
