"""One module per verb: the script calls that perform it, and how their replies are read."""
