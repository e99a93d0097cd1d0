"""Confirm a bulk action: fix its members, and start its chain."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.bulk.actions import Action
from holdfast.bulk.jobs import bulk
from holdfast.bulk.members import Members, fix
from holdfast.bulk.records import BulkReport, BulkRequest
from holdfast.client.client import Client
from holdfast.core.job import Chain
from holdfast.core.record import Status
from holdfast.engine.operations import Filter
from holdfast.errors import HoldfastError


class NothingToDo(HoldfastError):
    """The filter matches no chain on which the action can work."""

    def __init__(self) -> None:
        super().__init__("nothing to do: no job matches the filter any more")


async def start(
    client: Client,
    action: Action,
    chosen: Filter,
    *,
    user: str,
    query: str = "",
    reason: str | None = None,
    types: Iterable[str] | None = None,
) -> Chain[BulkReport]:
    """Start the chain of a bulk action. Chains that match the filter later are not changed by it.

    `types` are the job types that the user may change. Raises NothingToDo or FilterTooBroad.
    """
    members = await fix(client.store, action, chosen)
    if not members.count:
        raise NothingToDo
    request = BulkRequest(
        action,
        _named(action, members),
        user,
        query,
        reason or None,
        None if types is None else sorted(types),
        capped=not members.complete,
    )
    return await client.start(bulk.bind(request=request))


def _named(action: Action, members: Members) -> dict[Status, list[str]]:
    return {Status.PENDING: sorted(members.types)} if action == "pause" else members.by_status
