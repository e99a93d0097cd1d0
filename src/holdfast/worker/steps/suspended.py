"""The exception that ends an attempt whose handler sleeps or waits."""

from __future__ import annotations

from typing import cast


class Suspended(BaseException):
    """Raised in a handler by a long `sleep` or `receive`: the attempt ends, and continues later with the same number.

    Not an Exception, so that `except Exception` does not catch it. A handler that catches it must raise it again. If
    the handler returns instead, the attempt fails.
    """


def is_suspension(error: BaseException) -> bool:
    """Whether an error of a handler is a Suspended, alone or in groups of tasks."""
    if isinstance(error, BaseExceptionGroup):
        return all(is_suspension(each) for each in cast("BaseExceptionGroup[BaseException]", error).exceptions)
    return isinstance(error, Suspended)
