"""Codecs may write any bytes. Every store returns them unchanged."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from holdfast import JobFailed, JsonCodec, MsgpackCodec, PayloadRefused, Queue, content_id
from tests.queue.harness import Handler, Harness, Recorder, soon

EVERY_BYTE = bytes(range(256))


@dataclass
class Email:
    to: str
    sent_at: datetime


class RawCodec:
    """Bytes as they are."""

    def encode(self, value: bytes, /) -> bytes:
        return value

    def decode(self, stored: bytes, /) -> bytes:
        return stored


class PickleCodec:
    def encode(self, value: Any, /) -> bytes:
        return pickle.dumps(value)

    def decode(self, stored: bytes, /) -> Any:
        return pickle.loads(stored)  # noqa: S301 - the test wrote it


@pytest.mark.parametrize("payload", [b"", EVERY_BYTE, b"\xff\xfe\x00", EVERY_BYTE * 4000])
async def test_any_bytes_come_back_as_they_were(harness: Harness, payload: bytes) -> None:
    handler = Handler(lambda job: job.payload[::-1])
    async with harness.queue(handler, payload_codec=RawCodec(), result_codec=RawCodec()) as queue:
        assert await soon(queue.enqueue_and_wait("a", payload)) == payload[::-1]

    assert handler.jobs[0].payload == payload


async def test_msgpack_carries_bytes_within_values(harness: Harness) -> None:
    value = {"frames": [EVERY_BYTE, b""], "n": 2**63, "none": None, "nested": {"a": 1.5}}
    async with harness.queue(Handler(), payload_codec=MsgpackCodec(), result_codec=MsgpackCodec()) as queue:
        assert await soon(queue.enqueue_and_wait("a", value)) == value


async def test_payload_and_result_may_have_codecs_of_their_own(harness: Harness) -> None:
    when = datetime(2026, 1, 1, tzinfo=UTC)
    handler = Handler(lambda job: {job.payload.to})
    queue: Queue[Email, set[str]]
    queue = harness.queue(handler, payload_codec=JsonCodec(Email), result_codec=PickleCodec())
    async with queue:
        assert await soon(queue.enqueue_and_wait("a", Email("you", when))) == {"you"}

    assert handler.jobs[0].payload == Email("you", when)


async def test_the_payload_is_stored_exactly_as_the_codec_wrote_it(harness: Harness) -> None:
    async with harness.queue(payload_codec=RawCodec()) as queue:
        await queue.enqueue("a", EVERY_BYTE)

        assert (await harness.claim()).input == EVERY_BYTE


async def test_a_payload_that_cannot_be_encoded_is_refused_before_anything_is_written(harness: Harness) -> None:
    async with harness.queue() as queue:
        with pytest.raises(PayloadRefused, match="queue 'emails': the payload of 'a': set is no plain JSON value"):
            await queue.enqueue("a", {1})
        with pytest.raises(PayloadRefused):
            await queue.enqueue_many([("b", 1), ("c", {1})])

        assert await queue.status("a") is None
        assert await queue.status("b") is None


async def test_a_codec_that_does_not_write_bytes_is_refused(harness: Harness) -> None:
    class TextCodec:
        def encode(self, value: str, /) -> str:
            return value

        def decode(self, stored: bytes, /) -> str:
            return stored.decode()

    async with harness.queue(payload_codec=TextCodec()) as queue:
        with pytest.raises(TypeError, match="encode must return bytes, not str"):
            await queue.enqueue("a", "x")


async def test_an_outsized_payload_is_refused(harness: Harness) -> None:
    async with harness.queue(payload_codec=RawCodec()) as queue:
        with pytest.raises(PayloadRefused, match="over the limit of 16,777,216"):
            await queue.enqueue("a", b"x" * (2**24 + 1))


async def test_an_undecodable_message_waits_for_a_consumer_that_can_decode_it(harness: Harness) -> None:
    older, newer = Handler(), Handler(lambda job: "read")
    consumer = harness.queue(older, max_retries=0)
    recorder = Recorder(consumer)
    async with harness.queue(payload_codec=MsgpackCodec(), max_retries=0) as producer:
        async with consumer:
            await producer.enqueue("a", {"x": b"\xff"})
            await recorder.receive("requeued", "a")
        status = await producer.status("a")
        assert status is not None
        assert (status.state, status.attempts) == ("queued", 0)
        harness.clock.advance(1)
        async with harness.queue(newer, payload_codec=MsgpackCodec(), max_retries=0):
            assert await soon(producer.enqueue_and_wait("a", {"x": b"\xff"})) == "read"

    assert older.jobs == []
    assert [job.attempts for job in newer.jobs] == [1]


async def test_an_undecodable_message_fails_its_job_after_the_timeout_with_a_clear_error(harness: Harness) -> None:
    handler = Handler()
    consumer = harness.queue(handler, max_retries=5, mismatch_timeout=0)
    recorder = Recorder(consumer)
    async with consumer, harness.queue(payload_codec=MsgpackCodec(), max_retries=5) as producer:
        with pytest.raises(JobFailed, match="JsonCodec cannot decode the payload") as failure:
            await soon(producer.enqueue_and_wait("a", {"x": b"\xff"}))
        await recorder.receive("failed", "a")
        status = await producer.status("a")

    assert "queue 'emails'" in str(failure.value)
    assert "same payload_codec?" in str(failure.value)
    assert status is not None
    assert (status.state, status.attempts) == ("failed", 0)
    assert handler.jobs == []


async def test_a_mismatch_does_not_exhaust_the_attempts(harness: Harness) -> None:
    consumer = harness.queue(Handler(), max_retries=0, mismatch_timeout=0)
    recorder = Recorder(consumer)
    async with consumer, harness.queue(payload_codec=MsgpackCodec(), max_retries=0) as producer:
        with pytest.raises(JobFailed) as failure:
            await soon(producer.enqueue_and_wait("a", {"x": b"\xff"}))
        _, _, reported = await recorder.receive("failed", "a")

    assert type(failure.value) is JobFailed
    assert type(reported) is JobFailed


async def test_a_codec_may_raise_whatever_it_likes(harness: Harness) -> None:
    class Broken:
        def encode(self, value: Any, /) -> bytes:
            return b"x"

        def decode(self, stored: bytes, /) -> Any:
            raise LookupError("no key")

    async with harness.queue(Handler(), payload_codec=Broken(), mismatch_timeout=0) as queue:
        with pytest.raises(JobFailed, match="LookupError: no key"):
            await soon(queue.enqueue_and_wait("a", 1))


async def test_a_result_that_this_producer_cannot_decode_says_so(harness: Harness) -> None:
    async with harness.queue(Handler(lambda job: b"\xff"), result_codec=RawCodec()), harness.queue() as producer:
        with pytest.raises(PayloadRefused, match="JsonCodec cannot decode a stored result"):
            await soon(producer.enqueue_and_wait("a", 1))


@pytest.mark.parametrize("value", [float("nan"), {1: (1, 2)}, object(), 2**64])
def test_msgpack_refuses_what_would_not_come_back(value: Any) -> None:
    with pytest.raises(PayloadRefused, match="MessagePack"):
        MsgpackCodec().encode(value)


def test_msgpack_refuses_what_is_not_of_its_type() -> None:
    codec = MsgpackCodec(Email)
    when = datetime(2026, 1, 1, tzinfo=UTC)

    assert codec.decode(codec.encode(Email("you", when))) == Email("you", when)
    with pytest.raises(PayloadRefused):
        codec.encode({"to": 7})
    with pytest.raises(PayloadRefused):
        codec.decode(b"\xc1")


def test_an_id_from_content_depends_on_nothing_but_the_content() -> None:
    assert content_id({"a": 1, "b": [1, 2]}) == content_id({"b": [1, 2], "a": 1})
    assert content_id({"a": 1}) != content_id({"a": 2})
    assert content_id(b"x") == content_id(bytearray(b"x")) != content_id("x")
    assert content_id(Email("you", datetime(2026, 1, 1, tzinfo=UTC))) == content_id(
        {"sent_at": "2026-01-01T00:00:00Z", "to": "you"}
    )
    assert len(content_id(None)) == 32
    with pytest.raises(PayloadRefused):
        content_id(object())


async def test_a_content_id_is_an_id(harness: Harness) -> None:
    handler = Handler()
    async with harness.queue(handler) as queue:
        for payload in ({"a": 1, "b": 2}, {"b": 2, "a": 1}):
            assert await soon(queue.enqueue_and_wait(content_id(payload), payload)) == payload

    assert len(handler.jobs) == 1
