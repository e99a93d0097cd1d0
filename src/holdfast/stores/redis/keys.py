"""The keys of a namespace. All begin with its name in braces, so that a cluster keeps them in one slot.

{name}                  hash: `layout`, the last job's and the last event's number, until when anybody listens;
                        `l:PRIORITY:TYPE` for each line of pending jobs that is or lately was, `p:TYPE` for each paused
                        type
{name}:j:ID             hash: one job. `s` its state, `i` input, `o` output, `e` error
{name}:all              sorted set: every job id by its number
{name}:lj:S, {name}:lc:S   sorted sets: blocked, failed and cancelled jobs by their number, and their chains by theirs
{name}:q:PRIORITY:TYPE  sorted set: pending jobs by when they are due
{name}:r:TYPE           sorted set: running jobs by when their lease runs out
{name}:c:CHAIN          list: a chain's jobs after its first
{name}:a:JOB            list: the chains a job waits for ("after")
{name}:d:CHAIN          sorted set: the unfinished jobs that were given a chain ("dependents") by their number
{name}:s:CHAIN          sorted set: jobs that stopped while they waited for a chain, by their number
{name}:releasing        hash: chains that ended and have more jobs to tell of it, and how far they came
{name}:h:JOB            list: attempts that did not complete the job ("history")
{name}:k: o: w:         sorted sets: chains of one type and key, all of them, the unfinished, the completed ("well")
{name}:expiring         sorted set: finished chains by when they may be pruned
{name}:counts           hash: jobs per status and type, where no set above counts them
{name}:listeners, {name}:events     who follows the store live, and a stream of what they are told
{name}:answer:REQUEST, {name}:claimed:WORKER, {name}:gone:JOB   for a request sent twice, kept for as long as it may be:
                        its answer, what a worker claimed last, jobs that were removed soon after they were made or
                        settled
{name}:again            a string for a moment: a write that is waited for, where all others were made before
{name}:wake             the channel of wake-ups
"""

from __future__ import annotations

import re
from binascii import crc_hqx
from collections.abc import Sequence

LAYOUT = "2"
"""Of what is written under these keys. Whoever changes what they hold so that others could not read it counts up."""
SLOTS = 16384
_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,100}")


class Keys:
    """The names that Python needs; the scripts make the others themselves, from the root."""

    def __init__(self, namespace: str) -> None:
        if not _NAME.fullmatch(namespace):
            raise ValueError(f"a namespace is made of letters, digits and any of _ . : -, not {namespace!r}")
        self.root = f"{{{namespace}}}"
        self.absent = f"{self.root}:absent"
        self.again = f"{self.root}:again"
        self.channel = f"{self.root}:wake"
        # CRC16/XMODEM of what stands between the braces: the specification of Redis Cluster.
        self.slot = crc_hqx(namespace.encode(), 0) % SLOTS

    def declared(self, job_ids: Sequence[str]) -> list[str]:
        """The keys that a call names: see decision 0020."""
        if not job_ids:
            return [self.root, self.absent]
        prefix = f"{self.root}:j:"
        return [self.root, self.absent, *[prefix + job_id for job_id in job_ids]]
