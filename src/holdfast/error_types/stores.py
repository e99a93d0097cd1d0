"""Errors of the stores and their drivers."""

from __future__ import annotations

from typing import Self

from holdfast.error_types.holdfast_error import HoldfastError


class StoreUnavailable(HoldfastError):
    """The store cannot be reached, or did not respond in time."""

    def __init__(self, store: str, detail: str) -> None:
        self.store = store
        super().__init__(f"{store} is unavailable: {detail}")


class StoreReplaced(StoreUnavailable):
    """The SQLite file was removed, or another file is in its place. A retry does not help: open a new client."""

    def __init__(self, store: str, path: str) -> None:
        super().__init__(
            store,
            f"the file {path} was removed or replaced while this program used it, and nothing was written. Put the "
            "file back, or restart the programs that use it so that they open the file that is there now",
        )


class NotPermitted(HoldfastError):
    """The store refused an operation because a privilege is missing. Nothing was written.

    `privilege` names what is missing; an administrator has to grant it.
    """

    def __init__(self, store: str, detail: str, privilege: str) -> None:
        self.store = store
        self.privilege = privilege
        super().__init__(f"{store} does not permit this: {detail}. It needs {privilege}")


class MissingExtra(HoldfastError, ImportError):
    """A feature needs a driver that is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        self.extra = extra
        super().__init__(f"{what} needs packages that are not installed: install Holdfast with its extra [{extra}]")


class Conflict(HoldfastError):
    """Data that a transaction depends on was changed by another caller before its commit. Nothing was written."""


class Deadlock(Conflict):
    """PostgreSQL ended this transaction: it and another one waited for each other's locks. Nothing was written.

    The other transaction continues. Roll back, if the transaction is the application's own, and run it again.
    """

    def __init__(self, store: str, verb: str) -> None:
        self.store = store
        self.verb = verb
        super().__init__(
            f"{verb}: this transaction and another one waited for each other's locks, so {store} ended this one. "
            "Nothing of it was written, and the other one continues. Run the whole transaction again. This happens if "
            "two transactions change or name the same chains in several operations, in different orders"
        )

    def __reduce__(self) -> tuple[type[Self], tuple[str, str]]:
        return type(self), (self.store, self.verb)
