"""Simulation: the real worker and client on the memory store, in one thread, with a simulated clock.

The seed determines everything: the duration of each call of the store, which calls fail before or after they are
performed, which process is disconnected or crashes and when, and the workload. A failure can be replayed.
"""
