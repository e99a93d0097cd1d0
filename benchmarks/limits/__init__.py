"""Limits: what each store can do when a plain script does the same writes without any library."""
