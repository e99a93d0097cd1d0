"""What applications call: start chains, wait for them, inspect and operate on them."""
