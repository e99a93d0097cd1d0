"""The rows of live workers around the end of a run: while the workers run, after they ended, and 91 seconds later."""

from __future__ import annotations

import msgspec

from holdfast import SyncClient
from holdfast.core.clock import SECOND, system_clock
from holdfast.core.worker_record import GONE_AFTER


class LiveWorkers(msgspec.Struct, kw_only=True):
    """Ids of workers: those that existed at the end of the load, and those that the store listed."""

    existing: list[str] = []
    listed: list[str] = []
    """While the existing ones ran."""
    after_end: list[str] = []
    """After they had stopped."""
    after_gone: list[str] = []
    """With a clock that is ahead by the time after which a worker counts as gone."""


def listed(url: str, *, gone: bool = False) -> list[str]:
    """The ids of the workers that the store lists. With `gone`, as they would be listed 91 seconds later."""
    with SyncClient(url) as client:
        if gone:
            client.store.clock = lambda: system_clock() + GONE_AFTER + SECOND
        return [worker.id for worker in client.workers()]
