"""Bound calls that are started in the transaction of a session, directly before its commit."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncSession, async_scoped_session
from sqlalchemy.orm import Session, SessionTransaction
from sqlalchemy.util import await_only

from holdfast.client.client import Client
from holdfast.registry.jobs import Bound
from holdfast.stores.drivers.sql_alchemy import open_transactions

log = logging.getLogger("holdfast")


def starts_at_commit(client: Client, session: AsyncSession | async_scoped_session[Any]) -> StartsAtCommit:
    """Collect bound calls for the transaction of the session.

    The commit starts the calls of its transaction, in one operation. A rollback discards them, also one to a savepoint
    that was open when a call was added.
    """
    own = session() if isinstance(session, async_scoped_session) else session
    if not isinstance(own, AsyncSession):
        raise TypeError(f"starts at a commit need a SQLAlchemy AsyncSession, not a {type(own).__name__}")

    def start(bounds: list[Bound[Any]]) -> None:
        # SQLAlchemy calls its events in a greenlet, where coroutines are awaited with this function.
        await_only(client.start_many(bounds, tx=own))

    return StartsAtCommit(own.sync_session, start)


class StartsAtCommit:
    """The calls of one session, each with the transactions whose rollback discards it."""

    def __init__(self, session: Session, start: Callable[[list[Bound[Any]]], None]) -> None:
        self._session = session
        self._start = start
        self._calls: list[tuple[Bound[Any], tuple[SessionTransaction, ...]]] = []
        event.listen(session, "before_commit", self._before_commit)
        event.listen(session, "after_rollback", self._after_rollback)
        event.listen(session, "after_soft_rollback", self._after_soft_rollback)
        event.listen(session, "after_transaction_end", self._after_end)

    def add(self, bound: Bound[Any]) -> None:
        self._calls.append((bound, open_transactions(self._session)))

    def discard(self) -> None:
        self._calls = []

    def _before_commit(self, session: Session) -> None:
        # SQLAlchemy reports the release of a savepoint as a commit, too.
        if self._calls and not session.in_nested_transaction():
            calls, self._calls = self._calls, []
            self._start([bound for bound, _ in calls])

    def _after_rollback(self, session: Session) -> None:
        # Also called for a savepoint. For the outermost transaction it comes before `after_transaction_end`.
        if not session.in_nested_transaction():
            self.discard()

    def _after_soft_rollback(self, session: Session, ended: SessionTransaction) -> None:
        self._calls = [call for call in self._calls if ended not in call[1]]

    def _after_end(self, session: Session, ended: SessionTransaction) -> None:
        # `session.close()` rolls back without the event of a rollback.
        if ended.parent is None and self._calls:
            names = ", ".join(sorted({bound.type.name for bound, _ in self._calls}))
            log.warning("%d jobs were not started: their session ended without a commit (%s)", len(self._calls), names)
            self.discard()
