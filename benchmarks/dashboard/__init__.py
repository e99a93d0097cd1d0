"""The dashboard on a large store: the server time of every page.

    python -m benchmarks.dashboard sqlite --jobs 1000000

A day of history is written through the operations of the store, and copied until there are enough jobs. Then come the
jobs that wait and run. Pages are requested without a network, in turns.
"""
