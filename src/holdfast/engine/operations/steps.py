"""Operations of durable steps and messages."""

from __future__ import annotations

from typing import ClassVar

from holdfast.core.lost_claims import LostReason
from holdfast.core.steps import Checkpoint, StepRow
from holdfast.engine.operations.audit import Audit
from holdfast.engine.operations.operation import Operation


class SaveSteps(Operation[list[LostReason | None]], frozen=True):
    """Store steps of running attempts, each under its claim. Returns per checkpoint why its claim is lost, or None.

    A checkpoint with a lost claim writes nothing and does not affect the others. `Checkpoint.row` is stored: it
    replaces an open or failed row with the same name and `each`, unless that has a higher number: a checkpoint that
    arrives late replaces no newer one. A row that is final (`StepRow.final`) never changes. In both cases the result is
    None, as for a checkpoint that is sent again. The timeout of a receive is not stored if the message has its value:
    of a timeout and a concurrent message, the first one counts. It may be part of a transaction, also of a session of
    the application.
    """

    verb: ClassVar = "save_steps"
    checkpoints: tuple[Checkpoint, ...]


class GetSteps(Operation[list[list[StepRow]]], frozen=True):
    """The steps of these jobs, open ones too, each list ordered by `number`. An unknown job has none."""

    verb: ClassVar = "get_steps"
    writes: ClassVar = False
    job_ids: tuple[str, ...]


class GetMessages(Operation[list[bytes | None]], frozen=True):
    """The values of messages, each given by the id of its chain and its name. None: it was not sent."""

    verb: ClassVar = "get_messages"
    writes: ClassVar = False
    names: tuple[tuple[str, str], ...]


class SendMessage(Operation[bool], frozen=True):
    """Store a message for a chain. Returns whether it is the first value of this name; a later one is not stored.

    A job of the chain that is suspended and waits for this name becomes due in the same transaction. If the
    message and the settlement that suspends the job are concurrent, the second one sees the first one, and the job
    becomes due. Raises ChainNotFound, and AlreadyCompleted if the chain is finished.
    """

    verb: ClassVar = "send"
    repeatable: ClassVar = False
    chain_id: str
    name: str
    value: bytes
    audit: Audit | None = None
