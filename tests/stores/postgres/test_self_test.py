"""A listener's self-test is passed by its own word only."""

from __future__ import annotations

import pytest

from holdfast.stores.postgres import self_test
from holdfast.stores.postgres.self_test import SelfTest


def test_its_own_word_passes_it() -> None:
    test = SelfTest()
    assert test.due()

    word = test.begin()

    assert test.heard(word)
    assert not test.failed()
    assert not test.due()


def test_the_word_of_another_process_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(self_test, "PATIENCE", 0.0)
    test = SelfTest()
    test.begin()

    # Behind a pooler it may come by way of a session that is this listener's for a moment only.
    assert not test.heard(SelfTest().begin())

    assert test.failed()


def test_its_own_word_passes_it_late_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(self_test, "PATIENCE", 0.0)
    test = SelfTest()
    word = test.begin()
    assert test.failed()

    assert test.heard(word)
