"""The check of LISTEN passes only with the test notification of this process."""

from __future__ import annotations

import pytest

from holdfast.stores.postgres.wakeups import listen_check
from holdfast.stores.postgres.wakeups.listen_check import ListenCheck


def test_the_check_passes_with_its_own_notification() -> None:
    check = ListenCheck()
    assert check.due()

    text = check.begin()

    assert check.received(text)
    assert not check.failed()
    assert not check.due()


def test_the_test_notification_of_another_process_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listen_check, "TIMEOUT", 0.0)
    check = ListenCheck()
    check.begin()

    # Behind a pooler it may arrive from a session that is assigned to this listener only briefly.
    assert not check.received(ListenCheck().begin())

    assert check.failed()


def test_the_check_passes_with_a_late_notification_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listen_check, "TIMEOUT", 0.0)
    check = ListenCheck()
    text = check.begin()
    assert check.failed()

    assert check.received(text)
