"""Encodes values as JSON and decodes them, checked against annotations."""
