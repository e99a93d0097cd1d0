"""The keys of a namespace. All begin with its name in braces, so a cluster keeps them in one hash slot.

{name}                  hash: `layout`; `seq` and `events`, the last numbers of a job and an event; `listening`, the
                        time until which events are recorded; `l:PRIORITY:TYPE` for each set of pending jobs that exists
                        or existed recently; `p:TYPE` for each paused type; `audited`, the last number of the audit
{name}:j:ID             hash: one job. `s` its state, `i` input, `o` output, `e` error, `f` the fingerprint of a
                        failed one
{name}:all              sorted set: every job id by its number
{name}:lj:S, {name}:lc:S   sorted sets: blocked, failed and cancelled jobs by their number, and their chains by theirs
{name}:q:PRIORITY:TYPE  sorted set: pending jobs by the time at which they are due
{name}:r:TYPE           sorted set: running jobs by the end of their lease
{name}:c:CHAIN          list: a chain's jobs after its first
{name}:a:JOB            list: the blockers of a job ("after")
{name}:d:CHAIN          sorted set: the unfinished jobs that name this chain as a blocker ("dependents") by their number
{name}:s:CHAIN          sorted set: jobs that finished while this chain still blocked them, by their number
{name}:st:JOB           sorted set: the chains that this job started, by the number of their first job
{name}:releasing        hash: ended chains whose dependents are not all updated yet, and the position reached
{name}:h:JOB            list: attempts that did not complete the job ("history")
{name}:t:JOB            hash: the steps of a job
{name}:m:CHAIN          hash: the messages of a chain, and the jobs that wait for them
{name}:k: o: w:         sorted sets: chains of one type and key: all of them, the unfinished, the completed
{name}:expiring         sorted set: finished chains by the time from which they may be pruned
{name}:counts           hash: jobs per status and type, for the statuses without a sorted set per type
{name}:workers, {name}:seen   live workers: a hash of their rows, and a sorted set of their ids by their last report
{name}:audit            sorted set: what operators changed by its time
{name}:gj:F, {name}:gc:F   sorted sets: failed jobs of an error group by their number, and their chains by theirs
{name}:n, {name}:started    changes of the counters that are not added up yet, and started jobs by minute and type
{name}:n:MINUTE, {name}:ec:MINUTE   hashes: the counters of each type, and the numbers of each error group, in a minute;
                        kept for a day. n:0 has the totals of each type
{name}:eg               hash: error groups by fingerprint
{name}:schedules, {name}:schedule:NAME   sorted set: the names of all schedules; hash: one schedule
{name}:ticks:TYPE       sorted set: schedules of a job type by their next tick
{name}:listeners, {name}:events     the subscribers of live events, and the stream of these events
{name}:answer:REQUEST, {name}:claimed:WORKER, {name}:gone:JOB   for requests that are sent twice, with an expiry time:
                        the reply of a request, the last claim of a worker, and jobs that were removed soon after they
                        were created or settled
{name}:confirmation     string with an expiry of 1 ms: written so that WAIT has a write to wait for
{name}:wake             the pub/sub channel of wake-ups
"""

from __future__ import annotations

import re
from binascii import crc_hqx
from collections.abc import Sequence

LAYOUT = "2"
"""The version of the data under these keys. Increase it for a change that older versions of the code cannot read."""
SLOTS = 16384
_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,100}")


class Keys:
    """The keys that Python code needs. The scripts build the others from the root."""

    def __init__(self, namespace: str) -> None:
        if not _NAME.fullmatch(namespace):
            raise ValueError(f"a namespace is made of letters, digits and any of _ . : -, not {namespace!r}")
        self.root = f"{{{namespace}}}"
        self.absent = f"{self.root}:absent"
        self.confirmation = f"{self.root}:confirmation"
        self.channel = f"{self.root}:wake"
        # CRC16/XMODEM of the text between the braces, as the specification of Redis Cluster defines it.
        self.slot = crc_hqx(namespace.encode(), 0) % SLOTS

    def declared(self, job_ids: Sequence[str]) -> list[str]:
        """The keys that a call passes as KEYS: see decision 0020."""
        if not job_ids:
            return [self.root, self.absent]
        prefix = f"{self.root}:j:"
        return [self.root, self.absent, *[prefix + job_id for job_id in job_ids]]
