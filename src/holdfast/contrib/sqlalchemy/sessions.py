"""Sessions that know the client: `attach` a client to a session factory once, and `starter(session)` anywhere."""

from __future__ import annotations

from typing import Any, TypeVar, overload

from sqlalchemy.ext.asyncio import AsyncSession, async_scoped_session, async_sessionmaker
from sqlalchemy.orm import Session, scoped_session, sessionmaker

from holdfast.client.client import Client
from holdfast.client.sync_client import SyncClient
from holdfast.contrib.starter import Starter, SyncStarter

CLIENT = "holdfast.client"
"""The key of the client in the `info` of a session."""

S = TypeVar("S", bound="sessionmaker[Any] | scoped_session[Any]")
A = TypeVar("A", bound="async_sessionmaker[Any] | async_scoped_session[Any]")


@overload
def attach(client: SyncClient, sessions: S) -> S: ...


@overload
def attach(client: Client, sessions: A) -> A: ...


def attach(client: Any, sessions: Any) -> Any:
    """Give every session of this factory the client, and return the factory.

    `SyncClient` for a `sessionmaker` or `scoped_session`, `Client` for an `async_sessionmaker` or
    `async_scoped_session`. Sessions of SQLModel are made by the same factories, with `class_=`.
    """
    kind = sessions.__class__
    if issubclass(kind, sessionmaker | scoped_session):
        wanted: type[Client | SyncClient] = SyncClient
    elif issubclass(kind, async_sessionmaker | async_scoped_session):
        wanted = Client
    else:
        raise TypeError(f"attach takes a session factory of SQLAlchemy, not a {kind.__name__}")
    if not isinstance(client, wanted):
        raise TypeError(f"a {kind.__name__} makes sessions for a {wanted.__name__}, not for a {type(client).__name__}")
    factory: Any = getattr(sessions, "session_factory", sessions)
    factory.configure(info={**factory.kw.get("info", {}), CLIENT: client})
    return sessions


@overload
def starter(session: Session | scoped_session[Any]) -> SyncStarter: ...


@overload
def starter(session: AsyncSession | async_scoped_session[Any]) -> Starter: ...


def starter(session: Any) -> Starter | SyncStarter:
    """Starts chains in the transaction of this session. Its factory has the client: see `attach`."""
    client: Client | SyncClient | None = session.info.get(CLIENT)
    if client is None:
        raise RuntimeError(
            "this session does not know the client: attach(client, sessions) to its factory, or use Starter or "
            "SyncStarter with the client"
        )
    return Starter(client, session) if isinstance(client, Client) else SyncStarter(client, session)
