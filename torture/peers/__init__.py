"""Peers: the same crashes for other job queues and for Holdfast.

Each adapter is small and configured as its project recommends for jobs that must survive a crash; timeouts for recovery
are as short as ours. The peers are not dependencies of this project: install them to compare.
"""
