"""Payloads of notifications stay below the size limit, and no hint is lost."""

from __future__ import annotations

import pytest

from holdfast.engine.wakeups import Hints
from holdfast.stores.postgres.wakeups.notification import MAX_PAYLOAD, payloads, read


@pytest.mark.parametrize("many", [1, 30, 200])
def test_hints_that_do_not_fit_into_one_notification_are_spread_over_several(many: int) -> None:
    hints = Hints({f"type {number}" for number in range(many)}, {f"{number}{'ü' * 100}" for number in range(many)})

    texts = payloads(hints, "sender")

    messages = [read(text) for text in texts]
    assert max(len(text.encode()) for text in texts) <= MAX_PAYLOAD
    assert {name for message in messages for name in message.d} == hints.due
    assert {name for message in messages for name in message.f} == hints.finished
    assert {message.s for message in messages} == {"sender"}


def test_hints_that_need_too_many_notifications_become_anything() -> None:
    types = {f"{number}{'x' * 200}" for number in range(100)}

    [text] = payloads(Hints(types, {f"chain {number}" for number in range(10_000)}))

    assert read(text).a
    assert len(text) <= MAX_PAYLOAD


@pytest.mark.parametrize("text", ["another format", b'{"d": ["gr\xf6\xdfe"]}'])
def test_a_payload_in_another_format_means_anything(text: str | bytes) -> None:
    assert read(text).a
