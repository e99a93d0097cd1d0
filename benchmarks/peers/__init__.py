"""Peers: other queues, each in a file and an environment of its own, set up as its project advises."""
