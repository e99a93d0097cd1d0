"""The keys of a namespace. All begin with its name in braces, so that a cluster keeps them in one slot.

{name}                  hash: the last job's and the last event's number, until when anybody listens
{name}:j:ID             hash: one job. `s` its state, `i` input, `o` output, `e` error
{name}:all              sorted set: every job id by its number
{name}:q:PRIORITY:TYPE  sorted set: pending jobs by when they are due
{name}:p:TYPE           sorted set: the priorities that pending jobs of a type have or had
{name}:r:TYPE           sorted set: running jobs by when their lease runs out
{name}:c:CHAIN          list: a chain's jobs after its first
{name}:a:JOB            list: the chains a job waits for ("after")
{name}:d:CHAIN          list: the jobs that wait for a chain ("dependents")
{name}:h:JOB            list: attempts that did not complete the job ("history")
{name}:k:, {name}:o:    sorted sets: chains of one type and key, all of them and the unfinished
{name}:expiring         sorted set: finished chains by when they may be pruned
{name}:counts           hash: jobs per status and type
{name}:paused           set of types
{name}:listeners, {name}:events     who follows the store live, and a stream of what they are told
{name}:answer:REQUEST   a minute's memory of answers, for a request sent twice
{name}:wake             the channel of wake-ups
"""

from __future__ import annotations

import re
from binascii import crc_hqx

SLOTS = 16384
_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,100}")


class Keys:
    """The names that Python needs; the scripts make the others themselves, from the root."""

    def __init__(self, namespace: str) -> None:
        if not _NAME.fullmatch(namespace):
            raise ValueError(f"a namespace is made of letters, digits and any of _ . : -, not {namespace!r}")
        self.root = f"{{{namespace}}}"
        self.absent = f"{self.root}:absent"
        self.channel = f"{self.root}:wake"
        # CRC16/XMODEM of what stands between the braces: the specification of Redis Cluster.
        self.slot = crc_hqx(namespace.encode(), 0) % SLOTS

    def job(self, job_id: str) -> str:
        return f"{self.root}:j:{job_id}"
