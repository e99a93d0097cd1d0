"""What is stored with a job besides its columns: one JSON text, None for most jobs.

Values that no statement filters or changes belong here: a start without them sends no more than before.
"""

from __future__ import annotations

import msgspec

from holdfast.core.lanes import JobLanes


class FailureHook(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The chain that a permanent failure of the job starts: its type and the options declared for that type."""

    type: str
    parameter: str
    """The parameter of the hook that receives the `Failure`."""
    priority: int = 0
    max_attempts: int | None = None
    keep: int | None = None
    then: str | None = None
    """The hook of the hook's own type, as JSON: the Redis scripts copy it without decoding its numbers."""
    hook_lanes: str | None = None
    """The lanes of the hook's jobs, as JSON of `JobLanes`."""


class JobDetails(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The values of the column `details`."""

    origin: str | None = None
    """The id of the job that started the chain: in its completion, or as its failure hook. It is the first field,
    because stores find the chains that a job started by the beginning of the text."""
    trace: str | None = None
    """The trace context of the caller that started the chain."""
    carrier: dict[str, str] | None = None
    """What plugins send along with a start."""
    on_failure: FailureHook | None = None
    lanes: JobLanes | None = None
    """Its limits, rates and orders."""
    epoch: int = 0
    """How often the job was retried from a step. The Redis scripts change it in the text: no other field has this name
    and a number as its value."""
    shard: str | None = None
    """The shard of the job; None without shards. The ids of jobs that follow from it begin with this name."""


NO_DETAILS = JobDetails()

_ORIGIN = '{"origin":"'

_read = msgspec.json.Decoder(JobDetails).decode
_read_lanes = msgspec.json.Decoder(JobLanes).decode
_read_hook = msgspec.json.Decoder(FailureHook).decode
_write = msgspec.json.Encoder().encode


def read_details(stored: str | None) -> JobDetails:
    """The details in a column. Empty if it contains something else: other roles may start jobs, with any text."""
    if stored is None:
        return NO_DETAILS
    try:
        return _read(stored)
    except msgspec.DecodeError:
        return NO_DETAILS


def write_hook(hook: FailureHook) -> str:
    """A hook as JSON, for the field `then` of another one."""
    return _write(hook).decode()


def hook_details(job_id: str, failed: JobDetails, hook: FailureHook) -> str | None:
    """The details of the chain of a hook: what the caller of the failed job sent along, and the hook's own hook."""
    then = None if hook.then is None else _read_hook(hook.then)
    lanes = hook_lanes(hook)
    return write_details(
        JobDetails(job_id, failed.trace, failed.carrier, on_failure=then, lanes=lanes, shard=failed.shard)
    )


def hook_lanes(hook: FailureHook) -> JobLanes | None:
    """The lanes of a hook's jobs."""
    return None if hook.hook_lanes is None else _read_lanes(hook.hook_lanes)


def write_lanes(lanes: JobLanes) -> str:
    """Lanes as JSON, for the field `hook_lanes` of a hook."""
    return _write(lanes).decode()


def lanes_of(stored: str | None) -> JobLanes | None:
    """The lanes in a column. Most details have none, and are not read."""
    return read_details(stored).lanes if stored is not None and '"lanes":' in stored else None


def inherited_details(stored: str | None) -> JobDetails:
    """The details that the continuations of a job take over: what its caller sent along, and its shard."""
    if stored is None:
        return NO_DETAILS
    details = read_details(stored)
    return JobDetails(trace=details.trace, carrier=details.carrier, shard=details.shard)


def with_shard(stored: str | None, shard: str) -> str:
    """The details of a job on this shard."""
    if stored is not None and f'"shard":"{shard}"' in stored:
        return stored
    return _write(msgspec.structs.replace(read_details(stored), shard=shard)).decode()


def started_details(job_id: str, stored: str | None) -> JobDetails:
    """The details of a chain that a job with these details starts."""
    details = NO_DETAILS if stored is None else read_details(stored)
    return JobDetails(job_id, details.trace, details.carrier, shard=details.shard)


def origin_of(stored: str | None) -> str | None:
    """The job that started the chain. Most details have none, and are not read."""
    return read_details(stored).origin if stored is not None and stored.startswith(_ORIGIN) else None


def origin_text(job_id: str) -> str:
    """How the details of the chains that this job started begin."""
    return _ORIGIN + _write(job_id).decode()[1:]


def epoch_of(stored: str | None) -> int:
    """How often a job was retried from a step. Most details have no such number, and are not read."""
    return read_details(stored).epoch if stored is not None and '"epoch":' in stored else 0


def next_epoch(stored: str | None) -> str:
    """The details of a job after one more retry from a step."""
    details = read_details(stored)
    return _write(msgspec.structs.replace(details, epoch=details.epoch + 1)).decode()


def write_details(details: JobDetails) -> str | None:
    """The column for these details; None if all are empty."""
    return None if details is NO_DETAILS or details == NO_DETAILS else _write(details).decode()
