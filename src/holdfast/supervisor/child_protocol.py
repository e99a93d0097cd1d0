"""What a worker process is told when it starts, and what the two say to each other afterwards.

The order goes over the child's standard input, as its first line: an address with a password in it is then neither
among the arguments nor in the environment, where others could read it. After it come commands, one a line. When the
pipe closes without a command, the supervisor is gone.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from holdfast.queue.queue_type import PREFIX
from holdfast.registry.jobs import Jobs
from holdfast.simulation import WorkKind, simulated
from holdfast.supervisor.group import Group, GroupError

DRAIN = b"drain\n"
"""Take no more jobs, finish those that run, however long it takes, and end."""
STOP = b"stop\n"
"""The same within the grace period; a second one ends that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Logging:
    """How processes log, to their standard error."""

    level: str = "info"
    json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Everything a worker process needs to know."""

    store: str
    app: str | None
    kinds: tuple[WorkKind, ...]
    group: Group
    types: tuple[str, ...]
    logging: Logging
    path: tuple[str, ...]
    """Where modules are found, as in the supervisor."""
    supervisor: int
    """Its process id."""


class Word(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a worker process says: that it is ready, under this name, and how many handlers it runs."""

    ready: str | None = None
    busy: int | None = None


ORDERS = msgspec.json.Decoder(Order)
WORDS = msgspec.json.Decoder(Word)


def find_jobs(app: str | None, kinds: Sequence[WorkKind]) -> Jobs:
    """The registry that `app` names (`module:jobs`, or `module` alone for its `jobs`), with the work kinds' types."""
    jobs = Jobs()
    if app is not None:
        found = pkgutil.resolve_name(app if ":" in app else f"{app}:jobs")
        if not isinstance(found, Jobs):
            raise TypeError(f"{app} is a {type(found).__name__}, not a Jobs registry")
        jobs.include(found)
    jobs.include(simulated(kinds))
    return jobs


def share_out(groups: Sequence[Group], jobs: Jobs) -> dict[str, tuple[str, ...]]:
    """The types of each group, by its name. A group that names none takes those that no other group names.

    GroupError for a type or queue that has no handler here or that two groups name, for types that nobody takes, and
    for two groups that would take the rest.
    """
    handled = [job_type.name for job_type in jobs if job_type.function is not None]
    owners: dict[str, Group] = {}
    for group in groups:
        for name, key in group.named.items():
            if name not in handled:
                raise GroupError(group, key, complaint=_unknown(name, handled))
            if (owner := owners.setdefault(name, group)) is not group:
                raise GroupError(group, key, complaint=f"{_said(name)} belongs to group {owner.name!r} already")
    rest = tuple(name for name in handled if name not in owners)
    takers = [group for group in groups if group.takes_the_rest]
    if len(takers) > 1:
        complaint = f"it names no types, and neither does group {takers[0].name!r}: only one can take what is left"
        raise GroupError(takers[1], "types", complaint=complaint)
    if rest and not takers:
        complaint = f"no group takes {', '.join(map(_said, rest))}: name each in one, or leave one group without"
        raise GroupError(groups[0], "types", complaint=complaint)
    shares = {group.name: rest if group.takes_the_rest else tuple(group.named) for group in groups}
    return {name: share for name, share in shares.items() if share}


def _unknown(name: str, handled: Sequence[str]) -> str:
    queues = [each.removeprefix(PREFIX) for each in handled if each.startswith(PREFIX)]
    types = [each for each in handled if not each.startswith(PREFIX)]
    known = ", ".join(sorted(queues if name.startswith(PREFIX) else types)) or "none"
    return f"no {_said(name)} has a handler here; these do: {known}"


def _said(name: str) -> str:
    if name.startswith(PREFIX):
        return f"queue {name.removeprefix(PREFIX)!r}"
    return f"job type {name!r}"
