"""Operations of operators: cancel, retry, run now, delete, pause, resume, keep, prune.

With `audit`, the store writes an entry for each chain, job or type that an operation changed.
"""

from __future__ import annotations

from typing import ClassVar

from holdfast.core.clock import Micros
from holdfast.core.record import ChainRecord, Record
from holdfast.engine.operations.audit import Audit
from holdfast.engine.operations.operation import Operation


class CancelChains(Operation[list[ChainRecord]], frozen=True):
    """Cancel the current job of each chain. Returns the chains after the operation.

    A cancelled job is not run. If it was running, its claim is lost. With `spare_running`, running jobs are not
    cancelled. Finished chains do not change. An unknown chain raises ChainNotFound, and nothing is cancelled.
    """

    verb: ClassVar = "cancel"
    chain_ids: tuple[str, ...]
    reason: bytes | None = None
    spare_running: bool = False
    audit: Audit | None = None


class RetryJobs(Operation[list[Record]], frozen=True):
    """Return failed or cancelled jobs to pending, with `attempt` at zero, or to blocked if blockers are not completed.

    All or none. Raises JobNotFound. Raises NotPending for a job with another status, a job that is not the last of its
    chain, a job whose key has another unfinished chain, and a job that waits for a deleted chain. Raises
    DependencyCycle for a job that would wait for a chain which waits for the job's own chain.

    The steps of a job are kept. With `from_step`, that step and the later ones are deleted, with the messages that they
    received (`holdfast.core.steps.removed_from`), and the epoch in the details increases by one
    (`holdfast.core.details.next_epoch`). Raises StepNotFound for a job without such a step.
    """

    verb: ClassVar = "retry"
    repeatable: ClassVar = False
    job_ids: tuple[str, ...]
    audit: Audit | None = None
    from_step: str | None = None


class RunNow(Operation[list[Record]], frozen=True):
    """Make pending jobs due now. All or none. Raises JobNotFound or NotPending.

    The open sleeps of the jobs end. A suspended job that waits for a message and has no open sleep does not change.
    """

    verb: ClassVar = "run_now"
    job_ids: tuple[str, ...]
    audit: Audit | None = None


class Delete(Operation[list[str]], frozen=True):
    """Delete whole chains with their steps and messages, also running ones. Returns the deleted ids.

    Unknown ids are ignored.

    With `cascade`, the blockers of every job of these chains are deleted too, and the blockers of those. All or none:
    StillReferenced is raised if an unfinished job of another chain waits for one of them.
    """

    verb: ClassVar = "delete"
    repeatable: ClassVar = False
    chain_ids: tuple[str, ...]
    cascade: bool = False
    audit: Audit | None = None


class Pause(Operation[None], frozen=True):
    """Stop claims of jobs of these types until `Resume`. Running jobs continue."""

    verb: ClassVar = "pause"
    types: tuple[str, ...]
    audit: Audit | None = None


class Resume(Operation[None], frozen=True):
    """Allow claims of jobs of these types again."""

    verb: ClassVar = "resume"
    types: tuple[str, ...]
    audit: Audit | None = None


class Keep(Operation["list[bool | None]"], frozen=True):
    """Keep finished chains for this long, counted from now. None means without end.

    Returns one value per chain: True if it was done, False for an unfinished chain, None for a chain that does not
    exist or whose keep time is over.
    """

    verb: ClassVar = "keep"
    chain_ids: tuple[str, ...]
    keep: Micros | None


class Prune(Operation[list[str]], frozen=True):
    """Delete up to `limit` finished chains whose keep time is over, oldest first. Returns their ids.

    Their steps and messages are deleted too.

    A chain that an unfinished job names as a blocker is not deleted. A chain whose key is not free yet only loses its
    payloads, and does not count towards the limit. Entries of the audit older than `AUDIT_KEPT` are deleted too.
    """

    verb: ClassVar = "prune"
    limit: int
