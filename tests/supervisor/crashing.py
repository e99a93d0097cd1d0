"""A worker process that exits before it is ready."""

import sys

if __name__ == "__main__":
    sys.exit(3)
