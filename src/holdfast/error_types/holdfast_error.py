"""The base class of the errors."""


class HoldfastError(Exception):
    """The base class of all errors that a caller can handle."""
