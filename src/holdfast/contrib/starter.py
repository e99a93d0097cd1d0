"""Start chains only in a given transaction: a starter has no `tx` option, and cannot be made without a transaction."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Generic, Protocol, TypeVar, Unpack, overload

from holdfast.client.client import Client
from holdfast.client.sync_client import SyncClient
from holdfast.core.job import Chain
from holdfast.registry.jobs import Bound
from holdfast.registry.options import StartKeywords, StartKeywordsWithoutAfter

T = TypeVar("T")
B = TypeVar("B")
C = TypeVar("C", Client, SyncClient)


class AsyncTransaction(Protocol):
    """An async session or connection of a database driver, such as a SQLAlchemy AsyncSession."""

    @property
    def execute(self) -> Callable[..., Awaitable[Any]]: ...


class BlockingTransaction(Protocol):
    """A blocking session or connection of a database driver, such as a SQLAlchemy Session."""

    @property
    def execute(self) -> Callable[..., Any]: ...


class _Bound(Generic[C]):
    """A client and the transaction of its starts."""

    def __init__(self, client: C, tx: object) -> None:
        if tx is None:
            raise TypeError(f"{type(self).__name__} needs the session or connection whose transaction its starts join")
        self._client: C = client
        self._tx = tx

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {type(self._tx).__name__}>"


class Starter(_Bound[Client]):
    """Starts chains in the transaction of a session or connection: they exist if, and only if, it commits."""

    def __init__(self, client: Client, tx: AsyncTransaction) -> None:
        super().__init__(client, tx)

    @overload
    async def start(self, bound: Bound[T], **options: Unpack[StartKeywords]) -> Chain[T]: ...

    @overload
    async def start(
        self, bound: Bound[T, B], *, after: B, **options: Unpack[StartKeywordsWithoutAfter]
    ) -> Chain[T]: ...

    async def start(self, bound: Bound[T, Any], **options: Any) -> Chain[T]:
        """Create a chain in the transaction, with the options of `Client.start`."""
        chain: Chain[T] = await self._client.start(bound, tx=self._tx, **options)
        return chain

    async def start_many(self, bounds: Iterable[Bound[T]]) -> list[Chain[T]]:
        """Create many chains in the transaction. Options are given on each bind."""
        return await self._client.start_many(bounds, tx=self._tx)


class SyncStarter(_Bound[SyncClient]):
    """Starts chains in the transaction of a blocking session or connection."""

    def __init__(self, client: SyncClient, tx: BlockingTransaction) -> None:
        super().__init__(client, tx)

    @overload
    def start(self, bound: Bound[T], **options: Unpack[StartKeywords]) -> Chain[T]: ...

    @overload
    def start(self, bound: Bound[T, B], *, after: B, **options: Unpack[StartKeywordsWithoutAfter]) -> Chain[T]: ...

    def start(self, bound: Bound[T, Any], **options: Any) -> Chain[T]:
        """Create a chain in the transaction, with the options of `SyncClient.start`."""
        chain: Chain[T] = self._client.start(bound, tx=self._tx, **options)
        return chain

    def start_many(self, bounds: Iterable[Bound[T]]) -> list[Chain[T]]:
        """Create many chains in the transaction. Options are given on each bind."""
        return self._client.start_many(bounds, tx=self._tx)
