"""The statements of the worker file."""
