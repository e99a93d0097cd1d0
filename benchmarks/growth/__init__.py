"""How the cost of operations grows with the number of jobs in a store: `python -m benchmarks.growth`."""
