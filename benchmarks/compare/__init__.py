"""Compares starts and drains of two commits that take turns."""
