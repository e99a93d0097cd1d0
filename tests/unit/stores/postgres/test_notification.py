"""Hints as they travel through PostgreSQL: small enough, and none lost."""

from __future__ import annotations

import pytest

from holdfast.engine.wakeups import Hints
from holdfast.stores.postgres.wakeups.notification import MAX_PAYLOAD, payloads, read


@pytest.mark.parametrize("many", [1, 30, 200])
def test_hints_that_do_not_fit_into_one_notification_are_spread_over_several(many: int) -> None:
    hints = Hints({f"type {number}" for number in range(many)}, {f"{number}{'ü' * 100}" for number in range(many)})

    texts = payloads(hints, "sender")

    reported = [read(text) for text in texts]
    assert max(len(text.encode()) for text in texts) <= MAX_PAYLOAD
    assert {word for message in reported for word in message.d} == hints.due
    assert {word for message in reported for word in message.f} == hints.finished
    assert {message.s for message in reported} == {"sender"}


def test_hints_that_would_take_too_many_notifications_say_look_for_yourselves() -> None:
    types = {f"{number}{'x' * 200}" for number in range(100)}

    [text] = payloads(Hints(types, {f"chain {number}" for number in range(10_000)}))

    assert read(text).a
    assert len(text) <= MAX_PAYLOAD


@pytest.mark.parametrize("text", ["somebody else's", b'{"d": ["gr\xf6\xdfe"]}'])
def test_words_that_are_not_ours_mean_anything(text: str | bytes) -> None:
    assert read(text).a
