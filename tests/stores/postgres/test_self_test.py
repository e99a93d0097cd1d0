"""A listener's self-test is passed by its own word only."""

from __future__ import annotations

import pytest

from holdfast.stores.postgres.wakeups import listen_check
from holdfast.stores.postgres.wakeups.listen_check import ListenCheck


def test_its_own_word_passes_it() -> None:
    test = ListenCheck()
    assert test.due()

    word = test.begin()

    assert test.received(word)
    assert not test.failed()
    assert not test.due()


def test_the_word_of_another_process_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listen_check, "TIMEOUT", 0.0)
    test = ListenCheck()
    test.begin()

    # Behind a pooler it may come by way of a session that is this listener's for a moment only.
    assert not test.received(ListenCheck().begin())

    assert test.failed()


def test_its_own_word_passes_it_late_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listen_check, "TIMEOUT", 0.0)
    test = ListenCheck()
    word = test.begin()
    assert test.failed()

    assert test.received(word)
