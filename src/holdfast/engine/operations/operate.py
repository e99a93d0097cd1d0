"""Verbs of those who look after a store."""

from __future__ import annotations

from typing import ClassVar

from holdfast.core.clock import Micros
from holdfast.core.record import ChainRecord, Record
from holdfast.engine.operations.operation import Operation


class Cancel(Operation[list[ChainRecord]], frozen=True):
    """Cancel the current job of each chain; answers the chains as they stand afterwards.

    A job that had not started never will; a running one can write nothing more, or is left alone where `spare_running`
    says so. Finished chains are left alone.
    An unknown chain raises ChainNotFound and nothing is cancelled.
    """

    verb: ClassVar = "cancel"
    chain_ids: tuple[str, ...]
    reason: bytes | None = None
    spare_running: bool = False


class RetryJobs(Operation[list[Record]], frozen=True):
    """Make failed or cancelled jobs pending again (blocked where blockers are still open), attempts granted anew.

    All or none: raises JobNotFound, or NotPending for a job in another status or no longer the
    last of its chain, or that still waits for a chain that was deleted. DependencyCycle for a job that would wait for
    a chain which waits for the job's own.
    """

    verb: ClassVar = "retry"
    job_ids: tuple[str, ...]


class RunNow(Operation[list[Record]], frozen=True):
    """Make pending jobs due at once. All or none: raises JobNotFound or NotPending."""

    verb: ClassVar = "run_now"
    job_ids: tuple[str, ...]


class Delete(Operation[list[str]], frozen=True):
    """Delete chains whole, running ones too; answers the ids deleted. Unknown ids are passed over.

    With `cascade` the blockers of every job of these chains go too, and theirs. All or nothing: where an unfinished
    job outside the set waits for a chain inside it, StillReferenced is raised.
    """

    verb: ClassVar = "delete"
    chain_ids: tuple[str, ...]
    cascade: bool = False


class Pause(Operation[None], frozen=True):
    """Hand out no jobs of these types until they are resumed. Running ones go on."""

    verb: ClassVar = "pause"
    types: tuple[str, ...]


class Resume(Operation[None], frozen=True):
    """Hand out jobs of these types again."""

    verb: ClassVar = "resume"
    types: tuple[str, ...]


class Keep(Operation["list[bool | None]"], frozen=True):
    """Keep finished chains for this long from now on; None is for ever. Answers, in order, whether it was done.

    False for a chain that is not finished, None where there is no such chain, or it is past its keep time.
    """

    verb: ClassVar = "keep"
    chain_ids: tuple[str, ...]
    keep: Micros | None


class Prune(Operation[list[str]], frozen=True):
    """Delete up to `limit` finished chains past their keep time, oldest first; answers their ids.

    A chain that an unfinished job refers to stays.
    """

    verb: ClassVar = "prune"
    limit: int
