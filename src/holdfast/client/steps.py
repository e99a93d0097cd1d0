"""Steps of jobs, and messages to chains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.client.capability import Capability, SyncCapability
from holdfast.client.references import chain_id, current_job_id
from holdfast.codec.codec import codec_for
from holdfast.core.job import Chain, Job
from holdfast.core.step_report import Step, finished_steps
from holdfast.core.steps import NAME_LIMIT, StepRow
from holdfast.engine.operations import GetSteps, SendMessage
from holdfast.engine.procedures import Procedure
from holdfast.errors import PayloadRefused


class StepMethods(Capability):
    """Steps and messages, async."""

    async def send(self, chain: Chain[Any] | Job | str, name: str, value: Any = None, *, tx: Any = None) -> bool:
        """Send a message to a chain: a handler gets it from `attempt.receive(name, type)`, now or later.

        Returns whether it is the first value of this name; a later one is not stored. A job that waits for it becomes
        due. Raises ChainNotFound, and AlreadyCompleted if the chain is finished.
        """
        return await self._run(_send(chain, name, value), tx)

    async def steps(self, job: Job | Chain[Any] | str, *, tx: Any = None) -> Sequence[Step]:
        """The steps of a job, in order of completion. A chain, or its id, means its current job."""
        return await self._run(_steps(job), tx)


class SyncStepMethods(SyncCapability):
    """Steps and messages, blocking."""

    def send(self, chain: Chain[Any] | Job | str, name: str, value: Any = None, *, tx: Any = None) -> bool:
        """Send a message to a chain: a handler gets it from `attempt.receive(name, type)`, now or later.

        Returns whether it is the first value of this name; a later one is not stored. A job that waits for it becomes
        due. Raises ChainNotFound, and AlreadyCompleted if the chain is finished.
        """
        return self._run(_send(chain, name, value), tx)

    def steps(self, job: Job | Chain[Any] | str, *, tx: Any = None) -> Sequence[Step]:
        """The steps of a job, in order of completion. A chain, or its id, means its current job."""
        return self._run(_steps(job), tx)


def _send(chain: Chain[Any] | Job | str, name: str, value: Any) -> Procedure[bool]:
    check_message(name)
    first: bool = yield SendMessage(chain_id(chain), name, _encoded(name, value))
    return first


def check_message(name: str) -> None:
    """TypeError or ValueError unless a message can have this name."""
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers without a checker
        raise TypeError(f"the name of a message is text, not {type(name).__name__}")
    if not 1 <= len(name) <= NAME_LIMIT or "\0" in name:
        raise ValueError(f"the name of a message has 1 to {NAME_LIMIT} characters, and no NUL")


def _encoded(name: str, value: Any) -> bytes:
    """The value as JSON: plain values, or an object whose class has a codec, such as a dataclass."""
    try:
        return codec_for(Any).encode(value)
    except PayloadRefused as refusal:
        try:
            return codec_for(type(value)).encode(value)
        except (PayloadRefused, TypeError):
            raise PayloadRefused(f"message {name!r}: {refusal}") from refusal


def _steps(subject: Job | Chain[Any] | str) -> Procedure[Sequence[Step]]:
    current = yield from current_job_id(subject)
    (rows,) = yield GetSteps((current,))
    found: list[StepRow] = rows
    return finished_steps(found)
