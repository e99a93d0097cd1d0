"""Refuses models inside the transactions of async handlers, which are not on a connection of Django."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

REFUSED = (
    "models cannot be used inside prepare(), complete() and tx_step of an async handler: Django's connection is not "
    "part of the transaction. Make the handler a plain function (def), or write with `await done.tx.execute(...)`"
)

_in_async_block: ContextVar[bool] = ContextVar("holdfast_django_in_async_block", default=False)
"""Whether this is the code inside a block of an async handler."""


def refuse_models(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
    """An `execute_wrapper` of every connection: raises RuntimeError inside a block of an async handler."""
    if _in_async_block.get():
        raise RuntimeError(REFUSED)
    return execute(sql, params, many, context)


def watch_connection(*, connection: Any, **_: object) -> None:
    """A receiver of `connection_created`: adds `refuse_models`."""
    if refuse_models not in connection.execute_wrappers:
        connection.execute_wrappers.append(refuse_models)


@contextmanager
def refusing_models(refused: bool = True) -> Generator[None]:
    """The code inside a block of an async handler. With False: Holdfast's own statements inside of it."""
    token = _in_async_block.set(refused)
    try:
        yield
    finally:
        _in_async_block.reset(token)
