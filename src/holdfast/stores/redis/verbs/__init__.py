"""One module per verb: the statements that perform it, and how their rows are read."""
