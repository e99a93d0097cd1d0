"""Connections to the server, their pool, and the transactions on them."""
