"""One module for each verb: its plan, and how it reads the rows of its statements."""
