"""The claims that a worker has sent: one at a time, or two if the store performs both at the same time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from holdfast.core.record import Record
from holdfast.engine.operations import ClaimedJobs
from holdfast.worker.ahead_size import Room
from holdfast.worker.claimer import Claimer
from holdfast.worker.held_claims import lease_clock

CLAIM_BATCH = 100
"""The maximum number of free slots that one claim fills, or half of the worker's slots if that is more. A second claim
is sent only if it can fill as many."""


class Claimed(NamedTuple):
    """The jobs of one claim, what it asked for, and when it was sent: no lease began before that."""

    jobs: list[Record]
    room: Room
    sent: float
    seconds: float
    """How long the claim took."""


class ClaimsInFlight:
    """Sends claims, and returns the jobs of each one as soon as it has an answer.

    Each of two claims at the same time has a claimer of its own, and so a token of its own.
    """

    def __init__(self, make_claimer: Callable[[], Claimer], *, concurrency: int) -> None:
        self._most = max(CLAIM_BATCH, concurrency // 2)
        self._claimers = deque([make_claimer(), make_claimer()])
        self._sent: dict[asyncio.Task[Claimed], Room] = {}
        self.overlap = False
        """Whether the last claim was one that the store performs beside another one, and took all that it asked for."""

    def __bool__(self) -> bool:
        """Whether a claim was sent whose jobs were not received."""
        return bool(self._sent)

    @property
    def unanswered(self) -> bool:
        """Whether the answer to a claim was lost: the next claim repeats it."""
        return any(each.unanswered for each in self._claimers)

    @property
    def slots(self) -> int:
        """How many slots the jobs of these claims may take."""
        return sum(room.limit for room in self._sent.values())

    async def claim(self, room: Room) -> Claimed:
        """Send a claim for this room if none is in flight, and a second one if it gains time. Receive one of them.

        If many slots are free, a claim fills a part of them: its handlers start before the next claim returns.
        """
        part = room._replace(limit=min(room.limit, self._most))
        if not self._sent:
            room = room._replace(limit=room.limit - part.limit)
            if not self._second_fits(room):
                return await self._claim(part)
            self._send(part)
        if len(self._sent) == 1 and self._second_fits(room):
            self._send(Room(min(room.limit, self._most), finds_new=room.finds_new))
        return await self.receive()

    async def receive(self) -> Claimed:
        """Wait for a claim in flight. The jobs of a claim must not wait for another one: their leases have begun."""
        done, _ = await asyncio.wait(self._sent, return_when=asyncio.FIRST_COMPLETED)
        task = done.pop()
        del self._sent[task]
        return task.result()

    def _second_fits(self, rest: Room) -> bool:
        return self.overlap and rest.limit >= CLAIM_BATCH

    def _send(self, room: Room) -> None:
        self._sent[asyncio.create_task(self._claim(room), name="holdfast-claim")] = room

    async def _claim(self, room: Room) -> Claimed:
        claimer = self._claimers.popleft()
        try:
            jobs, sent = await claimer.claim(room)
        except BaseException:
            self._claimers.appendleft(claimer)  # the next claim repeats this one, whose answer was lost
            raise
        self._claimers.append(claimer)
        self.overlap = isinstance(jobs, ClaimedJobs) and jobs.overlaps and len(jobs) >= room.limit
        return Claimed(jobs, room, sent, lease_clock() - sent)
