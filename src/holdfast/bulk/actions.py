"""The actions: on which chains they work, and why a chain that was chosen is skipped. Pure: no I/O."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, Literal, get_args

import msgspec

from holdfast.core.record import FINISHED, UNFINISHED, ChainRecord, Status
from holdfast.engine.operations import Filter

Action = Literal["retry", "cancel", "run_now", "delete", "pause"]

ACTIONS: Final[tuple[Action, ...]] = get_args(Action)

_STATUSES: Final[dict[Action, frozenset[Status]]] = {
    "retry": frozenset({Status.FAILED, Status.CANCELLED}),
    "cancel": UNFINISHED,
    "run_now": frozenset({Status.PENDING}),
    "delete": FINISHED,
    "pause": UNFINISHED,
}


def narrowed(action: Action, chosen: Filter) -> Filter | None:
    """The filter, limited to chains on which the action can work. None if there can be none.

    Unfinished chains are deleted only if the filter names their status.
    """
    usable = frozenset(Status) if action == "delete" and chosen.statuses else _STATUSES[action]
    statuses = tuple(sorted(usable.intersection(chosen.statuses) if chosen.statuses else usable))
    if not statuses or (action == "run_now" and chosen.scheduled is False):
        return None
    scheduled = True if action == "run_now" else chosen.scheduled
    return msgspec.structs.replace(chosen, statuses=statuses, scheduled=scheduled)


def refusal(action: Action, chain: ChainRecord, *, chosen_as: Status, types: Collection[str] | None) -> str | None:
    """Why this chain is skipped, or None.

    `chosen_as` is its status at the confirmation. `types` are the job types that the user may change; None means all.
    """
    job = chain.last
    if types is not None and job.type not in types:
        return f"its current job is now of the type {job.type}"
    if action == "delete":
        # A chain that was chosen as failed and was retried meanwhile must not be changed.
        return None if job.status is chosen_as else f"it was {chosen_as} and is now {job.status}"
    if job.status not in _STATUSES[action]:
        return f"it is now {job.status}"
    return None
