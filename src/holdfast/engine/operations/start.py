"""Operations that create chains."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from holdfast.core.lifecycle import NewJob
from holdfast.core.record import ChainRecord
from holdfast.engine.operations.operation import Operation


class Started(NamedTuple):
    """A chain after `start`: created now, or found by its key or id."""

    chain: ChainRecord
    deduplicated: bool


class Start(Operation[list[Started]], frozen=True):
    """Create chains, in order, all or none. Results are in the same order.

    Redis creates up to 100 chains atomically. More are created in parts of 100, in order, each part atomic. If a part
    is refused or the connection fails, the error has a note with the least number of chains that exist. If the jobs
    have ids, repeating the whole start creates no chain twice.

    A job with a key is compared with the chains of its type that have this key. Candidates are in its dedup scope, were
    created within its window and are not excluded. The newest candidate is returned, and nothing is written for that
    job. Of several callers with the same key, exactly one creates a chain. If a job with the same id exists, its chain
    is returned, so a start may be sent again.

    A job with the dedup scope `waiting` replaces the newest chain of its key whose first job is pending or blocked.
    That first job keeps its id, its number and its creation time. It takes the input and the options of the new job,
    and has no attempts. If there is no such chain, the job is created, also while another chain of the key runs. Raises
    DependencyCycle if the replaced chain would wait for itself.

    A job with a blocker that is not completed becomes blocked. Raises ChainNotFound for an unknown blocker.
    """

    verb: ClassVar = "start"
    jobs: tuple[NewJob, ...]


class PreviewStart(Operation[list[ChainRecord | None]], frozen=True):
    """The existing chains that `Start` would return, in order; None where it would create one. Writes nothing.

    Only stores whose transactions are buffered need it.
    """

    verb: ClassVar = "preview"
    writes: ClassVar = False
    jobs: tuple[NewJob, ...]
