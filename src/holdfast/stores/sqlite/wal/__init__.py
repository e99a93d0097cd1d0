"""The write-ahead log: its size, and checkpoints."""
