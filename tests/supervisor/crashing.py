"""A worker process that does not get far."""

import sys

if __name__ == "__main__":
    sys.exit(3)
