"""Peers: the same crashes for other queues, side by side with ours.

Each adapter is small, and set up as its project advises for work that should survive a crash; where it recovers by
waiting, the wait is as short as ours. Neither peer is a dependency of this project: install them where you compare.
"""
