"""The clients, async and blocking: start chains, wait for them, read and operate on them."""
