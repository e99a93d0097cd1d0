"""Claims, reaps and prunes over all shards: each has an equal share of the limit, and what other shards do not use.

Shards that do not answer are left out, so that the others continue.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any, NamedTuple, TypeVar

from msgspec.structs import replace

from holdfast.core.clock import SECOND
from holdfast.core.record import Record
from holdfast.engine.operations import ClaimedJobs, ClaimJobs, NextDue, Operation, Prune, Reap
from holdfast.errors import StoreUnavailable
from holdfast.stores.sharded.plan import Answers, Plan, available

R = TypeVar("R")

_RECHECK = SECOND
"""How soon a worker claims again while a shard does not answer."""
_AGAIN = 0.1
"""A claim without an answer is repeated during this part of the lease. Its leases began with the first request."""


class _Unanswered(NamedTuple):
    """A claim of a shard without an answer."""

    token: str
    sent: float
    delivered: frozenset[str]
    """Jobs that the shard has claimed under this token for the same call, and that the worker has received."""


class Shares:
    """Distributes limits over the shards. The shard that is first changes with each operation."""

    def __init__(self) -> None:
        self._turn = 0
        self._unanswered: dict[tuple[str, str], _Unanswered] = {}
        """By worker and shard."""

    def claim(self, operation: ClaimJobs, names: Sequence[str]) -> Plan[list[Record]]:
        """Claim on each shard. A shard whose earlier answer was lost receives the earlier token first."""
        if operation.again:
            return (yield from self._claim_again(operation, names))
        reuse = min((each.lease for each in operation.types), default=0) * _AGAIN / SECOND
        had: dict[str, list[str]] = {}
        new: set[str] = set()

        def part(name: str, limit: int) -> ClaimJobs:
            before = self._unanswered.get((operation.worker, name))
            if before is not None and monotonic() < before.sent + reuse:
                return replace(operation, limit=limit, token=before.token, again=True, ahead=0)
            return replace(operation, limit=limit, ahead=0, had=len(had.get(name, ())))

        def part_ahead(name: str, ahead: int) -> ClaimJobs:
            return replace(operation, limit=0, ahead=ahead, had=len(had.get(name, ())))

        def note(sent: dict[str, Operation[Any]], answers: Answers) -> None:
            for name, claim in sent.items():
                assert isinstance(claim, ClaimJobs)
                if isinstance(answers[name], StoreUnavailable):
                    if not claim.again:
                        delivered = frozenset(had.get(name, ()))
                        self._unanswered[operation.worker, name] = _Unanswered(claim.token, monotonic(), delivered)
                    continue
                before = self._unanswered.pop((operation.worker, name), None)
                if before is not None and before.delivered and claim.again and isinstance(answers[name], list):
                    answers[name] = [job for job in answers[name] if job.id not in before.delivered]
                if isinstance(answers[name], list):
                    new.difference_update(job.id for job in answers[name])  # claimed again
                new.update(getattr(answers[name], "new", ()))
                if claim.token == operation.token and isinstance(answers[name], list):
                    had.setdefault(name, []).extend(job.id for job in answers[name])

        found = yield from self._distribute(operation.limit, names, part, note)
        # A shard that is asked twice may claim a job twice, if it was lost in between. The later claim counts.
        jobs = ClaimedJobs({job.id: job for job in found}.values())
        quick = {each.type for each in operation.types if each.ahead}
        if operation.ahead and len(jobs) >= operation.limit and quick.issuperset(job.type for job in jobs):
            jobs.add((yield from self._distribute(operation.ahead, names, part_ahead, note)))
        jobs.new = new
        return jobs

    def next_due(self, operation: NextDue, names: Sequence[str], *, complete: bool) -> Plan[int | None]:
        """The earliest time of all shards. At most `_RECHECK` if a shard is left out, or a claim has no answer yet."""
        answers = yield from available(dict.fromkeys(names, operation))
        found = [each for each in answers.values() if each is not None]
        if not complete or len(answers) < len(names) or self._unanswered:
            found.append(_RECHECK)
        return min(found, default=None)

    def reap(self, operation: Reap, names: Sequence[str]) -> Plan[list[Any]]:
        return self._distribute(operation.limit, names, lambda name, limit: replace(operation, limit=limit))

    def prune(self, operation: Prune, names: Sequence[str]) -> Plan[list[str]]:
        return self._distribute(operation.limit, names, lambda name, limit: replace(operation, limit=limit))

    def _claim_again(self, operation: ClaimJobs, names: Sequence[str]) -> Plan[list[Record]]:
        """The jobs of an earlier claim, shard by shard: together they must not exceed the limit."""
        jobs: list[Record] = []
        for name in names:
            if len(jobs) < operation.limit:
                ahead = 0 if jobs else operation.ahead
                part = replace(operation, limit=operation.limit - len(jobs), ahead=ahead)
                for found in (yield from available({name: part})).values():
                    jobs += found
        return jobs

    def _distribute(
        self,
        limit: int,
        names: Sequence[str],
        part: Callable[[str, int], Operation[Any]],
        note: Callable[[dict[str, Operation[Any]], Answers], None] = lambda sent, answers: None,
    ) -> Plan[list[Any]]:
        self._turn = (self._turn + 1) % len(names)
        hungry: list[str] = [*names[self._turn :], *names[: self._turn]]
        found: list[Any] = []
        answered, error = False, None
        while hungry and len(found) < limit:
            share, rest = divmod(limit - len(found), len(hungry))
            shares = {name: share + (position < rest) for position, name in enumerate(hungry)}
            sent = {name: part(name, size) for name, size in shares.items() if size}
            answers = yield sent
            note(sent, answers)
            # Shards without a share come next, then those that may have more.
            hungry = [name for name, size in shares.items() if not size]
            for name, answer in answers.items():
                if isinstance(answer, StoreUnavailable):
                    error = answer
                elif isinstance(answer, Exception):
                    raise answer
                else:
                    answered = True
                    found += answer
                    if len(answer) >= shares[name]:
                        hungry.append(name)
        if error is not None and not answered:
            raise error
        return found
