"""A queue as a job type: its name, its options, its codecs and its handler."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Any

from holdfast.codec.storable_values import HARD_LIMIT
from holdfast.core.clock import to_datetime
from holdfast.core.defaults import QUEUE_RETRY_INITIAL, QUEUE_RETRY_MAXIMUM
from holdfast.core.record import Record
from holdfast.core.retry import Retry, Seconds
from holdfast.errors import PayloadRefused
from holdfast.queue.codecs import JsonCodec, PayloadCodec
from holdfast.queue.queue_job import QueueJob
from holdfast.registry.bound import Bound
from holdfast.registry.job_type import JobType
from holdfast.registry.limits import AnyLimit, checked_limits
from holdfast.registry.options import TypeOptions, check_duration
from holdfast.worker.attempt import Attempt
from holdfast.worker.sync_attempt import SyncAttempt

PREFIX = "queue:"
MAX_NAME = 190
DEFAULT_RETRY = Retry(initial=QUEUE_RETRY_INITIAL, maximum=QUEUE_RETRY_MAXIMUM)

Handler = Callable[[QueueJob[Any]], Any | Awaitable[Any]]


def type_name(queue: str) -> str:
    """The name of the job type of a queue."""
    if not isinstance(queue, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"the name of a queue must be a str, not {type(queue).__name__}")
    if not 1 <= len(queue) <= MAX_NAME or not queue.isprintable():
        raise ValueError(f"the name of a queue has 1 to {MAX_NAME} printable characters, unlike {queue!r:.60}")
    return PREFIX + queue


class QueueType(JobType[..., ..., Any]):
    """The job type of a queue. Its input and output are exactly the bytes that the codecs wrote."""

    def __init__(
        self,
        queue: str,
        *,
        max_retries: int | None,
        retry: Retry | None,
        visibility_timeout: Seconds,
        renew_interval: Seconds | None = None,
        result_ttl: Seconds | None,
        dedup_ttl: Seconds | None = None,
        timeout: Seconds | None,
        payload_codec: PayloadCodec[Any] | None,
        result_codec: PayloadCodec[Any] | None,
        limits: Iterable[AnyLimit] = (),
    ) -> None:
        if max_retries is not None and (isinstance(max_retries, bool) or max_retries < 0):
            raise ValueError(f"max_retries must be at least 0, or None for no limit, not {max_retries}")
        check_duration("visibility_timeout", visibility_timeout)
        check_duration("result_ttl", result_ttl)
        check_duration("dedup_ttl", dedup_ttl, zero=True)
        attempts = None if max_retries is None else max_retries + 1
        super().__init__(
            _contract,
            name=type_name(queue),
            options=TypeOptions(
                retry=replace(retry or DEFAULT_RETRY, max_attempts=attempts),
                lease=visibility_timeout,
                timeout=timeout,
                keep=result_ttl,
                renew_interval=renew_interval,
                limits=limits,
            ),
            limit=HARD_LIMIT,
            handled=False,
        )
        self.queue = queue
        self.dedup_ttl = dedup_ttl
        self._payloads: PayloadCodec[Any] = payload_codec or JsonCodec()
        self._results: PayloadCodec[Any] = result_codec or JsonCodec()

    def _checked_limits(self) -> tuple[AnyLimit, ...]:
        return checked_limits(self.options.limits, None, owner=self.name)

    def execute(self, handler: Handler) -> None:
        """Run jobs with this handler: on the event loop if it is async, else in a thread."""
        if not callable(handler):
            raise TypeError(f"a handler is a function that takes a job, not {type(handler).__name__}")
        _check_parameters(handler)
        self.is_async = inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(
            getattr(handler, "__call__", None)  # noqa: B004 - an object whose call is async
        )
        self.function = _run_async(handler) if self.is_async else _run_plain(handler)
        self.takes_attempt = True

    def encode_payload(self, payload: Any, id: str) -> bytes:
        """The bytes of a payload to store under this id. Raises PayloadRefused, or the exception of the codec."""
        return self._encoded(self._payloads, payload, f"the payload of {id!r}")

    def decode_payload(self, stored: bytes) -> Any:
        """A stored payload. Raises the exception of the codec."""
        return self._payloads.decode(stored)

    def payload_of(self, record: Record) -> Any:
        """The payload of a stored job, or None if this codec cannot decode it."""
        try:
            return self.decode_payload(record.input)
        except Exception:
            return None

    def arguments(self, stored: bytes) -> tuple[tuple[Any, ...], dict[str, Any]]:
        try:
            return (self.decode_payload(stored),), {}
        except Exception as error:
            kind = type(self._payloads).__name__
            raise PayloadRefused(
                f"queue {self.queue!r}: {kind} cannot decode the payload ({type(error).__name__}: {error}); "
                "do producer and consumer use the same payload_codec?"
            ) from error

    def decode_input(self, stored: bytes) -> dict[str, Any]:
        return {"payload": self.decode_payload(stored)}

    def encode_output(self, value: Any) -> bytes:
        return self._encoded(self._results, value, "the result")

    def decode_output(self, stored: bytes) -> Any:
        try:
            return self._results.decode(stored)
        except Exception as error:
            kind = type(self._results).__name__
            raise PayloadRefused(
                f"queue {self.queue!r}: {kind} cannot decode a stored result ({type(error).__name__}: {error}); "
                "do producer and consumer use the same result_codec?"
            ) from error

    def _encoded(self, codec: PayloadCodec[Any], value: Any, subject: str) -> bytes:
        try:
            stored = codec.encode(value)
        except PayloadRefused as refusal:
            raise PayloadRefused(f"queue {self.queue!r}: {subject}: {refusal}") from refusal
        if not isinstance(stored, bytes):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"{type(codec).__name__}.encode must return bytes, not {type(stored).__name__}")
        if len(stored) > HARD_LIMIT:
            raise PayloadRefused(
                f"queue {self.queue!r}: {subject} has {len(stored):,} bytes, over the limit of {HARD_LIMIT:,}; "
                "keep large data elsewhere and pass its address"
            )
        return stored


def _contract(payload: Any) -> Any:
    """The signature of every queue for the registry."""


def _check_parameters(handler: Handler) -> None:
    """TypeError unless the handler can be called with the job as its only argument."""
    try:
        signature = inspect.signature(handler)
    except (TypeError, ValueError):  # some functions written in C have none
        return
    try:
        signature.bind(None)
    except TypeError:
        name = getattr(handler, "__name__", type(handler).__name__)
        raise TypeError(f"a handler takes exactly one argument, the job; {name}{signature} does not") from None


def _run_async(handler: Callable[[QueueJob[Any]], Any]) -> Callable[..., Any]:
    async def run(attempt: Attempt, payload: Any) -> Any:
        return _checked(await handler(_job(attempt, payload)))

    return run


def _run_plain(handler: Callable[[QueueJob[Any]], Any]) -> Callable[..., Any]:
    def run(attempt: SyncAttempt, payload: Any) -> Any:
        return _checked(handler(_job(attempt, payload)))

    return run


def _job(attempt: Attempt | SyncAttempt, payload: Any) -> QueueJob[Any]:
    record = attempt.job.record
    return QueueJob(
        id=record.key or record.id,
        payload=payload,
        attempts=record.attempt,
        max_attempts=record.max_attempts or None,
        created_at=to_datetime(record.created_at),
        signal=attempt.signal,
    )


def _checked(result: Any) -> Any:
    if inspect.iscoroutine(result):
        result.close()
        raise TypeError("the handler is a plain function that returned a coroutine; make it `async def`")
    if isinstance(result, Bound):
        raise TypeError("a job of a queue ends with a result; for chains of several jobs use Client and Jobs")
    return result
