"""The messages between a supervisor and its worker processes.

The supervisor writes the settings to the standard input of the process, as its first line. An address with a password
is then neither in the arguments nor in the environment, where other users could read it. Commands follow, one per line.
The end of the pipe without a command means that the supervisor has died. The process writes its status to a pipe.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from holdfast.engine.attempt_tally import TypeTally
from holdfast.queue.queue_type import PREFIX
from holdfast.registry.jobs import Jobs
from holdfast.simulation import WorkKind, simulated
from holdfast.supervisor.group import Group, GroupError

DRAIN = b"drain\n"
"""Claim no more jobs, let running handlers end, without a time limit, and exit."""
STOP = b"stop\n"
"""Likewise, within the grace period. A second STOP ends the grace period."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Logging:
    """The log settings of the processes. They log to their standard error."""

    level: str = "info"
    json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildSettings:
    """All settings of a worker process."""

    store: str
    app: str | None
    kinds: tuple[WorkKind, ...]
    group: Group
    types: tuple[str, ...]
    logging: Logging
    path: tuple[str, ...]
    """The import path of the supervisor."""
    supervisor: int
    """The process id of the supervisor."""
    count_attempts: bool = False
    """Whether the supervisor wants to know the attempts that end."""


class ProcessStatus(msgspec.Struct, frozen=True, omit_defaults=True):
    """A message of a worker process: it is ready, with this worker id, or it runs this number of handlers.

    `draining`: an operator drains its worker, so the supervisor may start another process in its place.
    `attempts`: those that ended since the last such message, of one type.
    """

    ready: str | None = None
    busy: int | None = None
    draining: bool = False
    attempts: TypeTally | None = None


SETTINGS_DECODER = msgspec.json.Decoder(ChildSettings)
STATUSES = msgspec.json.Decoder(ProcessStatus)


def find_jobs(app: str | None, kinds: Sequence[WorkKind]) -> Jobs:
    """The registry that `app` names (`module:jobs`, or `module` alone for its `jobs`), with the work kinds' types."""
    if app is None:
        return simulated(kinds)
    found = pkgutil.resolve_name(app if ":" in app else f"{app}:jobs")
    if not isinstance(found, Jobs):
        raise TypeError(f"{app} is a {type(found).__name__}, not a Jobs registry")
    return found.extended(simulated(kinds)) if kinds else found


def assign_types(groups: Sequence[Group], jobs: Jobs) -> dict[str, tuple[str, ...]]:
    """The job types of each group, by the name of the group. A group that names none takes the remaining types.

    Raises GroupError for a type or queue without a handler, for one that two groups name, for types that no group
    takes, and for two groups that name none.
    """
    handled = [job_type.name for job_type in jobs if job_type.function is not None]
    owners: dict[str, Group] = {}
    for group in groups:
        for name, key in group.named.items():
            if name not in handled:
                raise GroupError(group, key, complaint=_unknown(name, handled))
            if (owner := owners.setdefault(name, group)) is not group:
                raise GroupError(group, key, complaint=f"{_described(name)} belongs to group {owner.name!r} already")
    rest = tuple(name for name in handled if name not in owners)
    takers = [group for group in groups if group.takes_remaining]
    if len(takers) > 1:
        complaint = f"it names no types, and neither does group {takers[0].name!r}: only one can take what is left"
        raise GroupError(takers[1], "types", complaint=complaint)
    if rest and not takers:
        complaint = f"no group takes {', '.join(map(_described, rest))}: name each in one, or leave one group without"
        raise GroupError(groups[0], "types", complaint=complaint)
    shares = {group.name: rest if group.takes_remaining else tuple(group.named) for group in groups}
    return {name: share for name, share in shares.items() if share}


def _unknown(name: str, handled: Sequence[str]) -> str:
    queues = [each.removeprefix(PREFIX) for each in handled if each.startswith(PREFIX)]
    types = [each for each in handled if not each.startswith(PREFIX)]
    known = ", ".join(sorted(queues if name.startswith(PREFIX) else types)) or "none"
    return f"no {_described(name)} has a handler here; these do: {known}"


def _described(name: str) -> str:
    if name.startswith(PREFIX):
        return f"queue {name.removeprefix(PREFIX)!r}"
    return f"job type {name!r}"
