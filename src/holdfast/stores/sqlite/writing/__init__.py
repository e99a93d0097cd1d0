"""The order in which threads and processes write to the file."""
