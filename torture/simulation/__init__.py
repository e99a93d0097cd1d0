"""Simulation: the real worker and client on the memory store, in one thread, under a clock that jumps.

A seed decides everything: how long each call of the store takes, which calls fail before or after they were
performed, who is cut off or crashes and when, and what the workload is. So whatever goes wrong can be seen again.
"""
